/** A node that cannot write its witness file: it serves, says so once, and writes the file when it can. */
import { mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Witnessed } from '../../../server/database/postgres/witness-file.ts'
import { witnessPath } from '../../../server/storage/data-folder.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { soon } from '../../support/waits.ts'

describe.skipIf(!isOnPostgres)('a node that cannot write its witness file', () => {
  const log: { level: number; msg: string }[] = []
  let bridge: TestBridge
  beforeAll(async () => {
    const logTo = { write: (line: string) => void log.push(JSON.parse(line)) }
    bridge = await startBridge({ settings: { log_level: 'warn' }, logTo })
  })
  afterAll(() => bridge.close())

  test('serves, warns once, and writes the file when it can', async () => {
    const file = witnessPath(bridge.data)
    const last = () => (JSON.parse(readFileSync(file, 'utf8')) as Witnessed).lanes.node ?? ''
    const warned = { level: 40, msg: 'failed to write the witness; the node tries again' }
    // It fails while the file of this name is being written.
    await vi.waitFor(() => mkdirSync(`${file}.partial`), soon)
    const before = last()
    await bridge.owner.createProject('one')
    await expect.poll(() => log.length).toBeGreaterThan(0)
    // The node tries again each second, so there are other tries meanwhile.
    for (let nth = 0; nth < 3; nth += 1) await bridge.ada.inbox('?wait_seconds=1')
    expect(last()).toBe(before)
    rmdirSync(`${file}.partial`)
    await expect.poll(() => last() > before).toBe(true)
    // A busy machine may also delay a notification, which the node logs.
    expect(log.filter(({ msg }) => msg.includes('witness'))).toMatchObject([warned])
  })
})
