/** PostgreSQL is backed up by its own tools, so the commands for the file of SQLite refuse and name them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { Desk } from '../../support/desk.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { expectSame, stored } from '../../support/stored.ts'

describe.skipIf(!isOnPostgres)('an installation on PostgreSQL', () => {
  let bridge: TestBridge
  let desk: Desk
  beforeAll(async () => {
    bridge = await startBridge()
    desk = await Desk.make()
  })
  afterAll(async () => {
    await bridge.close()
    await desk.remove()
  })

  test.each([
    ['backup', ['server', 'backup', 'copies']],
    ['restore', ['server', 'restore', 'a.db']],
  ])('is not changed by %s, which names the tools', async (_, args) => {
    const before = stored(bridge.data)
    const { code, stdout, stderr } = await desk.run([...args, '--data', bridge.data])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('this installation is on PostgreSQL')
    expect(stderr).toContain('pg_dump')
    expectSame([stored(bridge.data)], [before])
  })
})
