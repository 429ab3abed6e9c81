/** A script's Bridge from the files of a profile; faults of the files are reported before any request. */
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exportPrivateKey, generateKeyPair, openProfile } from '../../sdk/index.ts'
import { profileFiles } from '../../sdk/profile/profile-files.ts'
import { record } from '../support/bridges.ts'
import { answerJson, startNode } from '../support/fake-node.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'bridge-open-'))
})
afterEach(() => rm(home, { recursive: true, force: true }))

const files = () => profileFiles(home, 'ada')

async function stored(more: object = {}): Promise<void> {
  await mkdir(files().folder, { recursive: true })
  const profile = {
    base_url: 'http://127.0.0.1:1',
    allow_plain_http: false,
    instance_id: '01980000-0000-7000-8000-0000000000f1',
    code_sha256: 'a'.repeat(64),
    device: null,
    identity: record,
  }
  await writeFile(files().record, JSON.stringify({ ...profile, ...more }))
  const pem = exportPrivateKey(generateKeyPair().privateKey)
  await writeFile(files().key(record.credential_id), pem, { mode: 0o600 })
}

test('a profile is opened with its identity and its session', async () => {
  const node = await startNode((_heard, _nth, response) => answerJson(response, 200, { messages: [] }))
  await stored({ base_url: node.url })
  const session_id = '01980000-0000-7000-8000-0000000000aa'
  await writeFile(files().session, JSON.stringify({ session_id, clock_offset_ms: 5000 }))
  await using bridge = await openProfile('ada', { home, clock: () => new Date(0) })
  expect(bridge.identity.record).toEqual(record)
  expect((await bridge.now()).getTime()).toBe(5000)
  await bridge.inbox.read().catch(() => {})
  expect(node.heard[0]?.headers['x-bridge-session']).toBe(session_id)
  await node.close()
})

test('without a name the default profile is opened', async () => {
  await expect(openProfile(undefined, { home })).rejects.toMatchObject({
    code: 'identity_missing',
    message: expect.stringMatching(/^no identity in the profile (default|\S+); bridge enroll/),
  })
})

test('an unusable profile is refused', async () => {
  const refused = (words: string, name = 'ada') =>
    expect(openProfile(name, { home })).rejects.toMatchObject({
      name: 'LocalError',
      code: 'identity_unreadable',
      message: expect.stringContaining(words),
    })
  await refused('letters, digits', '../ada')
  await stored()
  const key = files().key(record.credential_id)
  await chmod(key, 0o644)
  await refused('is open to others (mode 0644); if no other user has read it: chmod 600')
  await chmod(key, 0o600)
  await writeFile(key, 'no key')
  await refused('is damaged')
  await rm(key)
  await refused('is missing')
  await writeFile(files().record, '{"base_url":"x"}')
  await refused('is incomplete or damaged')
})
