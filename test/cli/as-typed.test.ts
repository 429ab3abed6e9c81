/** The commands in our own messages exist, and work exactly as printed. */
import { execFileSync } from 'node:child_process'
import { chmodSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Command } from '../../cli/command.ts'
import { addSettings } from '../../cli/commands/server/settings.ts'
import { program } from '../../cli/program.ts'
import { asTyped, groups, single } from '../../cli/terminal/as-typed.ts'
import { readKey } from '../../sdk/profile/profile-files.ts'
import { Desk } from '../support/desk.ts'
import { onSqlite } from '../support/one-store.ts'
import { dropDatabase, hostEnvironment, isOnPostgres, makeEmptyDatabase } from '../support/postgres.ts'
import { framed } from './frame.ts'

const root = await program(framed().context)

const all = (command: Command, words: readonly string[] = []): [string, Command][] =>
  command.commands.flatMap((child) => {
    const path = [...words, child.name()]
    return [[path.join(' '), child] as [string, Command], ...all(child, path)]
  })
const tree = new Map(all(root))

test('the spelling table contains exactly the commands of the tree', () => {
  const isGroup = (path: string) => (tree.get(path)?.commands.length ?? 0) > 0
  // Both also act alone, and neither the helper nor a script uses a profile.
  const apart = new Set(['admin sessions', 'helper', 'help', 'completion'])
  const named = [...tree.keys()].filter((path) => !apart.has(path))
  expect([...groups].sort()).toEqual(named.filter(isGroup).sort())
  expect([...single].sort()).toEqual(named.filter((path) => !path.includes(' ') && !isGroup(path)).sort())
})

test.each([
  ['bridge inbox shows them', 'bridge inbox --profile ada shows them'],
  [
    'bridge task show 7 tells, or bridge ack',
    'bridge task show --profile ada 7 tells, or bridge ack --profile ada',
  ],
  ['bridge admin agent list shows them', 'bridge admin agent list --profile ada shows them'],
  ['next: bridge server start; done', "next: bridge server start --data '/a b'; done"],
  ['bridge up starts it', "bridge up --data '/a b' starts it"],
  ['agent-bridge task show 7', 'agent-bridge task show --profile ada 7'],
  ['bridge server restore BACKUP --replace', "bridge server restore --data '/a b' BACKUP --replace"],
  ['bridge task --help, bridge listen --help', 'bridge task --help, bridge listen --help'],
  ['a bridge node, and bridge help agents', 'a bridge node, and bridge help agents'],
])('%j is spelled %j', (text, expected) => {
  expect(asTyped(text, { profile: 'ada', data: '/a b' })).toBe(expected)
  expect(asTyped(text, {})).toBe(text)
})

test('with npx the printed command is spelled accordingly', () => {
  expect(asTyped('bridge server start; is this a bridge node?', { byNpx: true })).toBe(
    'npx bridge server start; is this a bridge node?',
  )
})

test('each of two commands of one sentence is spelled', () => {
  expect(asTyped('bridge up or bridge server start', { byNpx: true })).toBe(
    'npx bridge up or npx bridge server start',
  )
  expect(asTyped('bridge listen, or agent-bridge inbox or bridge ack', { profile: 'ada' })).toBe(
    'bridge listen --profile ada, or agent-bridge inbox --profile ada or bridge ack --profile ada',
  )
})

/** A command in a string of the sources: its words and the options directly after them. */
const mentions =
  /\bbridge ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*){0,2})((?: --[a-z-]+| [A-Z_]+| <[a-z_]+>| \$\{[^}]+\})*)/g

test('every command named by the program, the node, a guide or a prompt exists, with its options', async () => {
  for (const [path, command] of tree) if (path.startsWith('server ')) await addSettings(command)
  const here = join(import.meta.dirname, '../..')
  const files = [
    'server/host/doctor.ts',
    'sdk/contract/guide-texts.ts',
    'server/enrollments/prompt.ts',
    'server/**/*.ts',
  ]
  const paths = globSync(['cli/**/*.ts', ...files], { cwd: here })
  const wrong: string[] = []
  let count = 0
  for (const path of paths) {
    for (const [mention, words = '', behind = ''] of readFileSync(join(here, path), 'utf8').matchAll(
      mentions,
    )) {
      const [first = '', second = '', third = ''] = words.split(' ')
      if (!single.has(first) && !groups.has(first)) continue
      const name = [`${first} ${second} ${third}`, `${first} ${second}`, first].find((each) =>
        tree.has(each.trim()),
      )
      const command = tree.get(name?.trim() ?? '')
      // "bridge task" may be prose; a group followed by an unknown word is a mistake.
      if (groups.has(first) && command === tree.get(first) && second !== '') wrong.push(`${path}: ${mention}`)
      // The subcommand is only known at run time.
      if (behind.startsWith(' ${') && (command?.commands.length ?? 0) > 0) continue
      const options = [...(command?.options ?? []), ...root.options].map(({ long }) => long)
      for (const [, option = ''] of behind.matchAll(/ (--[a-z-]+)/g))
        if (!options.includes(option) && option !== '--help') wrong.push(`${path}: ${mention}`)
      count += 1
    }
  }
  expect(wrong).toEqual([])
  expect(count).toBeGreaterThan(150)
})

let desk: Desk
let data: string
let nowhere: string
let usual: string
beforeAll(async () => {
  desk = await Desk.make()
  data = join(desk.folder, 'my data')
  nowhere = join(desk.folder, 'none')
  usual = join(desk.folder, 'usual')
  for (const folder of [data, nowhere, usual]) await makeEmptyDatabase(folder)
})
afterAll(async () => {
  for (const folder of [data, nowhere, usual]) await dropDatabase(folder)
  await desk.remove()
})

test('messages about a node in another folder contain that folder, and their commands work as printed', async () => {
  const made = await desk.run(['server', 'init', '--data', data])
  expect(made.stderr).toContain(
    `next: bridge server start --data '${data}'; then, within 30 minutes, open this link in a browser, or: bridge admin setup --name NAME\n`,
  )
  const start = `bridge server start --data '${data}'`
  const restore = `bridge server restore --data '${data}' --replace`
  expect((await desk.run(['server', 'init', '--data', data])).stderr).toContain(
    isOnPostgres
      ? `from the data folder of the first one, then: ${start}`
      : `hint: ${start} runs it; --data chooses another folder; ${restore}`,
  )
  expect((await desk.run(['server', 'owner-link', '--data', nowhere])).stderr).toContain(
    `hint: bridge server init --data ${nowhere} creates an installation\n`,
  )
  expect((await desk.run(['server', 'status', '--data', data])).stderr).toContain(
    `hint: bridge server start --data '${data}' runs one`,
  )
  expect((await desk.run(['server', 'doctor', '--data', data])).stdout).toContain(
    `does not run; bridge server start --data '${data}'\n`,
  )
})

test('so does the remedy for an open folder, and for an open private key', async () => {
  chmodSync(data, 0o755)
  const { stdout } = await desk.run(['server', 'doctor', '--data', data])
  expect(stdout).toContain(`chmod go= '${data}'`)
  execFileSync('sh', ['-c', /chmod go= .*/.exec(stdout)?.[0] ?? 'false'])
  expect(statSync(data).mode & 0o077).toBe(0)

  const key = join(data, "ada's key.pem")
  writeFileSync(key, 'pem', { mode: 0o644 })
  const open = await readKey(key)
  const remedy = 'remedy' in open ? open.remedy : undefined
  execFileSync('sh', ['-c', /chmod 600 .*/.exec(remedy ?? '')?.[0] ?? 'false'])
  expect(await readKey(key)).toEqual({ pem: 'pem' })
  rmSync(key)
})

onSqlite('test/server/postgres/backups.test.ts').test('so does that after a restore', async () => {
  const file = join(desk.folder, 'backup.db')
  await desk.run(['server', 'backup', file, '--data', data])
  const into = join(desk.folder, 'restored')
  expect((await desk.run(['server', 'restore', file, '--data', into])).stderr).toContain(
    `next: bridge server start --data ${into}; bridge server owner-link --data ${into} prints a link`,
  )
})

test('the default folder is not mentioned', async () => {
  const environment = hostEnvironment(usual)
  expect((await desk.run(['server', 'init'], { environment })).stderr).toContain(
    'next: bridge server start; then',
  )
})

test('a command of the hooks is named without the profile, because install would store it', () => {
  expect(asTyped('bridge hooks install claude', { profile: 'ada' })).toBe('bridge hooks install claude')
})
