/** Backup and restore on the command line: the output and every exit code. Contract §12. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { offer } from '../support/files.ts'
import { sqliteOnly } from '../support/one-store.ts'

sqliteOnly('test/server/postgres/backups.test.ts')

let bridge: TestBridge
let desk: Desk
/** A backup made while the node was running. */
let file: string

const server = (...args: string[]) => desk.run(['server', ...args])

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  file = join(desk.folder, 'backup.db')
  await bridge.owner
    .createAgent(bridge.project.id, 'cy')
    .then(({ id }) => bridge.owner.enrollmentCode(bridge.project.id, id))
  await offer({ from: bridge.ada, to: bridge.ben, bytes: Buffer.from('one') })
  const { code, stdout, stderr } = await server('backup', file, '--data', bridge.data)
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${file}\n` })
  expect(stderr).toMatch(/^\d+ KiB, sha256 [0-9a-f]{64}\nnot included: the envelope key and config\.json, /)
})
afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

test('a backup into a folder is named by its time and reported as JSON', async () => {
  const folder = join(desk.folder, 'many')
  mkdirSync(folder)
  // Files as a killed backup leaves them.
  for (const end of ['', '-lock']) writeFileSync(join(folder, `.left.db.partial-0123456789ab${end}`), '')
  const made = JSON.parse((await server('backup', folder, '--data', bridge.data, '--json')).stdout)
  expect(made).toEqual({
    file: expect.stringMatching(/\/bridge-\d{8}T\d{6}Z\.db$/),
    bytes: expect.any(Number),
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    server_id: bridge.server.serverId,
    migration: expect.any(Number),
    taken_at: expect.stringMatching(/Z$/),
    removed: ['.left.db.partial-0123456789ab'],
  })
  expect(readdirSync(folder)).toHaveLength(1)

  writeFileSync(join(folder, '.left.db.partial-0123456789ab-lock'), '')
  const { stderr } = await server('backup', join(folder, 'next.db'), '--data', bridge.data)
  expect(stderr).toMatch(/^removed \.left\.db\.partial-0123456789ab, a leftover of a killed backup\n/)
})

test('refusals of a backup', async () => {
  expect(await server('backup', file, '--data', bridge.data)).toMatchObject({
    code: 7,
    stdout: '',
    stderr: expect.stringMatching(
      /^bridge: .* exists already and was not changed\nhint: choose another file/,
    ),
  })
  expect(await server('backup', join(desk.folder, 'no', 'x.db'), '--data', bridge.data)).toMatchObject({
    code: 3,
  })
  expect(await server('backup', desk.folder, '--data', desk.folder)).toMatchObject({ code: 3 })
  expect(await server('backup', '--data', bridge.data)).toMatchObject({ code: 2 })
  const interruption = new AbortController()
  interruption.abort()
  const words = ['server', 'backup', join(desk.folder, 'i.db'), '--data', bridge.data]
  expect(await desk.run(words, { interruption })).toMatchObject({
    code: 130,
    stderr: expect.stringContaining('no leftover files'),
  })
})

test('a restore lists the things to check: credentials, invalidated items, people', async () => {
  const data = join(desk.folder, 'new')
  const { code, stdout, stderr } = await server('restore', file, '--data', data)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^restored .*new; its newest record is from /)
  expect(stdout).toMatch(
    /\n2 sessions fenced\n\ncredentials\nproject +agent +credential +binding +last used +now\n/,
  )
  expect(stdout).toMatch(/\ndemo +ada +[0-9a-f-]{36} +key +.* +held: its agent is disabled\n/)
  expect(stdout).toMatch(/\nno longer valid\nwhat +of +project\n/)
  expect(stdout).toMatch(/\nenrollment +cy +demo\n/)
  expect(stdout).toMatch(/\npeople\nname +role +state +projects\nolu +owner +enabled +all\n$/)
  expect(stderr).toContain('created a new envelope key')
  expect(stderr).toContain('bridge admin agent state AGENT enabled')
  expect(stderr).toMatch(
    /\nnext: bridge server start --data \S+; bridge server owner-link --data \S+ prints a link to sign in with\n$/,
  )
  expect(await server('restore', file, '--data', data)).toMatchObject({
    code: 7,
    stderr: expect.stringMatching(/holds an installation already\nhint: .*--replace/),
  })
  const again = await server('restore', file, '--data', data, '--replace', '--json')
  expect(JSON.parse(again.stdout)).toMatchObject({ known: true, kept: expect.stringContaining('/replaced-') })
})

test("a restore with the operator's confirmation of the credentials disables no agent", async () => {
  const args = ['restore', file, '--data', join(desk.folder, 'moved'), '--accept-credentials', '--json']
  const { credentials } = JSON.parse((await server(...args)).stdout)
  expect(credentials.map(({ state }: { state: string }) => state)).toEqual(['good', 'good'])
})

test('refusals of a restore', async () => {
  const data = join(desk.folder, 'refused')
  expect(await server('restore', join(desk.folder, 'none.db'), '--data', data)).toMatchObject({ code: 3 })
  const damaged = join(desk.folder, 'damaged.db')
  writeFileSync(damaged, readFileSync(file).fill(7, 4096 * 10, 4096 * 12))
  expect(await server('restore', damaged, '--data', data)).toMatchObject({
    code: 15,
    stderr: expect.stringMatching(/^bridge: .*damaged\.db is damaged: /),
  })
  expect(await server('restore', file, '--data', bridge.data, '--replace')).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('another server is using'),
  })
  expect(await server('restore')).toMatchObject({ code: 2 })
})
