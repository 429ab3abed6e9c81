/**
 * Profiles in real folders: the files that are accepted and refused, and the results of concurrent processes.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeJson } from '../../cli/profile/json-file.ts'
import { readKeyFile, readKeyFileIfThere } from '../../cli/profile/key-file.ts'
import { takeLock } from '../../cli/profile/lock.ts'
import { profilePaths, readProfile, requireProfile, writeProfile } from '../../cli/profile/profile.ts'
import { type ProfileRecord, profileDirectory, profileSessions } from '../../sdk/profile/profile-files.ts'
import { blankSession, nobodyKnown } from '../../sdk/program.ts'
import { record } from '../support/bridges.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'bridge-profile-'))
})
afterEach(() => rm(home, { recursive: true, force: true }))

const paths = () => profilePaths(home, 'ada')
const profile: ProfileRecord = {
  base_url: 'https://bridge.example',
  allow_plain_http: false,
  instance_id: '01980000-0000-7000-8000-0000000000f1',
  code_sha256: 'a'.repeat(64),
  device: null,
  identity: record,
}

async function stored(more: object = {}): Promise<void> {
  await writeJson(paths().record, { ...profile, ...more })
}

test.each(['ada', 'A-1', 'ada.b_c', 'x'.repeat(64)])('%s is a valid name', (name) => {
  expect(profilePaths(home, name).folder).toBe(join(home, 'profiles', name))
})

test.each(['', '.', '..', '../ada', 'a/b', '.hidden', '-x', 'a b', 'x'.repeat(65), 'a\u0000'])(
  '%j is refused as a name',
  (name) => {
    expect(() => profilePaths(home, name)).toThrow(expect.objectContaining({ exit: 'usage' }))
  },
)

test('a profile is written with private files and read back', async () => {
  await mkdir(paths().folder, { recursive: true })
  await writeFile(paths().pendingKey(profile.code_sha256), 'pem', { mode: 0o600 })
  await writeProfile(paths(), profile, 'pem')
  expect(await readProfile(paths())).toEqual(profile)
  expect((await stat(paths().record)).mode & 0o777).toBe(0o600)
  expect(await readKeyFile(paths().key(record.credential_id))).toBe('pem')
})

test('a cache of peers that cannot be written fails no command', async () => {
  await mkdir(paths().peers, { recursive: true })
  const directory = profileDirectory(paths(), nobodyKnown, writeJson)
  await directory.save({ ...nobodyKnown, owner_conversation_id: record.agent.id })
  expect(await directory.load()).toEqual(nobodyKnown)
})

test('a lock that cannot be taken says why', async () => {
  await mkdir(paths().lock, { recursive: true })
  await expect(takeLock(paths().lock)).rejects.toThrow(
    `cannot lock ${paths().lock} (unable to open database file)`,
  )
})

test('folders made by the program are private', async () => {
  await stored()
  for (const folder of [join(home, 'profiles'), paths().folder]) {
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
  }
})

test('a new enrolment keeps no data of the previous one', async () => {
  const { folder, session, peers } = paths()
  await mkdir(folder, { recursive: true })
  for (const file of ['key-old.pem', 'pending-other.pem'])
    await writeFile(join(folder, file), 'old', { mode: 0o600 })
  for (const file of [session, peers]) await writeJson(file, { old: true })
  await writeFile(paths().pendingKey(profile.code_sha256), 'new', { mode: 0o600 })
  await writeProfile(paths(), profile, 'new')
  expect((await readdir(folder)).sort()).toEqual([`key-${record.credential_id}.pem`, 'profile.json'])
})

test('a missing profile is reported with the way to get one', async () => {
  expect(await readProfile(paths())).toBeUndefined()
  await expect(requireProfile(paths(), 'ada')).rejects.toMatchObject({
    exit: 'authentication',
    message: 'no identity in the profile ada',
    hint: expect.stringContaining('bridge enroll'),
  })
})

test.each([
  ['no JSON', '{"base_url":'],
  ['a list', '[]'],
  ['nothing', ''],
  ['half a profile', '{"base_url":"https://bridge.example"}'],
])('a profile of %s is refused without repeating it', async (_what, text) => {
  await stored()
  await writeFile(paths().record, text)
  const read = readProfile(paths())
  await expect(read).rejects.toMatchObject({ name: 'CommandError', exit: 'authentication' })
  await expect(read).rejects.not.toThrow('base_url')
})

test.each([0o640, 0o604, 0o660, 0o644])('a key of mode %o is refused, with the remedy', async (mode) => {
  const path = join(home, 'key.pem')
  await writeFile(path, 'pem')
  await chmod(path, mode)
  await expect(readKeyFile(path)).rejects.toMatchObject({
    exit: 'authentication',
    message: `the private key ${path} is open to others (mode 0${mode.toString(8)})`,
    hint: `if no other user has read it: chmod 600 ${path}`,
  })
  await chmod(path, 0o600)
  expect(await readKeyFile(path)).toBe('pem')
})

test('a key behind a symbolic link, a folder in its place, or a missing key is refused', async () => {
  const [path, target] = [join(home, 'key.pem'), join(home, 'elsewhere.pem')]
  expect(await readKeyFileIfThere(path)).toBeUndefined()
  await expect(readKeyFile(path)).rejects.toThrow('is missing')
  await writeFile(target, 'pem', { mode: 0o600 })
  await symlink(target, path)
  await expect(readKeyFile(path)).rejects.toThrow('is a symbolic link')
  await rm(path)
  await mkdir(path)
  await expect(readKeyFile(path)).rejects.toThrow('is not a regular file')
})

test("a session is kept between processes, and the instance is the profile's, whatever its file contains", async () => {
  const blank = blankSession(profile.instance_id)
  const sessions = profileSessions(paths(), blank, writeJson)
  expect(await sessions.load()).toEqual(blank)
  const started = { ...blank, session_id: record.credential_id, generation: 3, instance_id: 'other' }
  await sessions.save(started)
  expect(await profileSessions(paths(), blank, writeJson).load()).toEqual({
    ...started,
    instance_id: profile.instance_id,
  })
})

test('a damaged file with replaceable content is treated as missing', async () => {
  const blank = blankSession(profile.instance_id)
  await stored()
  await writeFile(paths().session, '{"session_id":')
  await writeFile(paths().peers, '{"peers":5}')
  expect(await profileSessions(paths(), blank, writeJson).load()).toEqual(blank)
  expect(await profileDirectory(paths(), nobodyKnown, writeJson).load()).toEqual(nobodyKnown)
  await profileSessions(paths(), blank, writeJson).save({ ...blank, generation: 1 })
  expect((await profileSessions(paths(), blank, writeJson).load()).generation).toBe(1)
})

const module = (name: string) =>
  JSON.stringify(fileURLToPath(new URL(`../../cli/${name}.ts`, import.meta.url)))

/** Starts a separate process that runs a few lines. */
function processOf(script: string) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdout.setEncoding('utf8')
  return child
}

test('simultaneous writers leave one complete file', async () => {
  const path = join(home, 'session.json')
  const writers = ['a', 'b', 'c'].map((name) =>
    processOf(`
      const { writeJson } = await import(${module('profile/json-file')})
      for (let count = 0; count < 30; count += 1) {
        await writeJson(${JSON.stringify(path)}, { name: ${JSON.stringify(name)}.repeat(5000), count })
      }`),
  )
  await Promise.all(writers.map((writer) => once(writer, 'close')))
  const { name, count } = JSON.parse(await readFile(path, 'utf8')) as { name: string; count: number }
  expect(name).toMatch(/^(a{5000}|b{5000}|c{5000})$/)
  expect(count).toBe(29)
  expect(await readdir(home)).toEqual(['session.json'])
})

test('the lock belongs to one process, and is free as soon as that process dies in any way', async () => {
  const path = join(home, 'listen.lock')
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const holder = processOf(`
      const { takeLock } = await import(${module('profile/lock')})
      globalThis.held = await takeLock(${JSON.stringify(path)})
      console.log(globalThis.held === undefined ? 'busy' : 'held')
      setInterval(() => {}, 1000)`)
    const [said] = (await once(holder.stdout, 'data')) as [string]
    expect(said).toBe('held\n')
    expect(await takeLock(path)).toBeUndefined()
    holder.kill(signal)
    await once(holder, 'close')
    const lock = await takeLock(path)
    expect(lock).toBeDefined()
    expect(await takeLock(path)).toBeUndefined()
    lock?.release()
  }
  expect(await readdir(home)).toEqual(['listen.lock'])
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('a lock that cannot be created is reported differently from one held by a process', async () => {
  await expect(takeLock(join(home, 'nowhere', 'listen.lock'))).rejects.toMatchObject({
    exit: 'unexpected',
  })
})

test('a signal that comes after a file was written reaches the program once', async () => {
  const file = fileURLToPath(new URL('../../cli/profile/json-file.ts', import.meta.url))
  const script = `
    const alive = setInterval(() => {}, 1000)
    for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => console.log(name))
    const { writeJson } = await import(${JSON.stringify(file)})
    await Promise.all(['a', 'b'].map((name) => writeJson(process.argv[1] + '/' + name + '.json', {})))
    for (const name of ['SIGINT', 'SIGTERM']) {
      const handled = new Promise((resolve) => process.once(name, resolve))
      process.kill(process.pid, name)
      await handled
      for (let turns = 0; turns < 100; turns += 1) await new Promise(setImmediate)
    }
    clearInterval(alive)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, home])
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (printed += text))
  const [code] = await once(child, 'close')
  expect([code, printed]).toEqual([0, 'SIGINT\nSIGTERM\n'])
})
