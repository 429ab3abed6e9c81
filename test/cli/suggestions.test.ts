/** Suggestions for a word that is no command. Each suggestion is a command. */
import { mkdir, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Command } from '../../cli/command.ts'
import { suggestion, synonyms } from '../../cli/failures/suggestions.ts'
import { hostCommands, ownerCommands } from '../../cli/profile/profile.ts'
import { program } from '../../cli/program.ts'
import { Desk } from '../support/desk.ts'
import { framed, runHere } from './frame.ts'

const root = await program(framed().context)

/** The command of these words; the words after it are options or arguments. */
const found = (words: string): Command =>
  words.split(' ').reduce((at, word) => at.commands.find((each) => each.name() === word) ?? at, root)

const exists = (words: string): boolean => {
  const plain = words.replace(/ ?--\S+$/, '').replace(/^help .*/, 'help')
  return plain === '' || plain.split(' ').at(-1) === found(plain).name()
}

test('no synonym is a command, and each stands for existing commands', () => {
  for (const [typed, meant] of Object.entries(synonyms)) {
    const isCommand =
      typed.split(' ').length ===
      typed.split(' ').filter((_, at) =>
        exists(
          typed
            .split(' ')
            .slice(0, at + 1)
            .join(' '),
        ),
      ).length
    expect([typed, isCommand]).toEqual([typed, false])
    const commands =
      typeof meant === 'string'
        ? [...meant.matchAll(/bridge ((?:[a-z-]+ )*?[a-z-]+) ends/g)].map(([, words = '']) => words)
        : meant
    expect([typed, commands.filter((words) => !exists(words))]).toEqual([typed, []])
  }
  for (const words of [...hostCommands].map((each) => `server ${each}`))
    expect([words, exists(words)]).toEqual([words, true])
  for (const words of [...ownerCommands].flatMap((each) => [each, `admin ${each}`]))
    expect([words, exists(words)]).toEqual([words, true])
})

test.each([
  ['init', 'did you mean bridge server init?'],
  ['login', 'did you mean bridge admin login?'],
  ['setup', 'did you mean bridge admin setup?'],
  ['start', 'did you mean one of bridge server start, bridge session start?'],
  [
    'stop',
    'control-C or SIGTERM ends bridge server start; bridge session close ends the session of a profile',
  ],
  ['register', 'did you mean one of bridge enroll, bridge key register?'],
  ['agents', 'did you mean one of bridge peers, bridge admin agent list?'],
  ['projects', 'did you mean bridge admin project list?'],
  ['project', 'did you mean bridge admin project?'],
  ['chat', 'did you mean one of bridge send, bridge ask, bridge listen?'],
  ['recv', 'did you mean one of bridge listen, bridge inbox, bridge transfer receive?'],
  ['receive', 'did you mean one of bridge listen, bridge inbox, bridge transfer receive?'],
  ['upload', 'did you mean bridge transfer send?'],
  ['download', 'did you mean bridge transfer receive?'],
  ['complete', 'did you mean bridge task complete?'],
  ['backup', 'did you mean bridge server backup?'],
  ['takeover', 'did you mean bridge admin takeover?'],
  // Typing errors.
  ['snd', 'did you mean bridge send?'],
  ['satrt', 'did you mean one of bridge session start, bridge server start?'],
  ['logot', 'did you mean bridge admin logout?'],
  ['xy', 'bridge --help lists the commands'],
])('the program suggests for bridge %s: %s', async (word, hint) => {
  expect(await runHere([word])).toEqual({
    code: 2,
    stdout: '',
    stderr: `bridge: unknown command '${word}'\nhint: ${hint}\n`,
  })
})

test.each([
  [['server', 'login'], 'did you mean bridge admin login?'],
  [['server', 'stop'], 'control-C or SIGTERM ends bridge server start'],
  [['admin', 'init'], 'did you mean bridge server init?'],
  [['admin', 'agents'], 'did you mean bridge admin agent list?'],
  [['admin', 'agent', 'add'], 'did you mean bridge admin agent create?'],
  [['task', 'finish'], 'did you mean bridge task complete?'],
  [['task', 'lst'], 'did you mean bridge task list?'],
  [['help', 'init'], 'did you mean bridge server init?'],
])('the program suggests for %j: %s', async (argv, hint) => {
  const { code, stderr } = await runHere(argv)
  expect([code, stderr]).toEqual([2, `bridge: unknown command '${argv.at(-1)}'\nhint: ${hint}\n`])
})

test('of many commands with a name some are suggested', () => {
  expect(suggestion('create', root, root)).toMatch(/^did you mean one of (bridge [a-z ]+create, ){5}…\?$/)
})

let desk: Desk
beforeAll(async () => {
  desk = await Desk.make()
})
afterAll(() => desk.remove())

test("an agent's command without a profile suggests the commands of the node and of the owner", async () => {
  expect((await desk.run(['status'])).stderr).toBe(
    'bridge: no identity in the profile default\nhint: bridge enroll --url URL creates one, with a code from the owner; bridge server status is for a node on this machine\n',
  )
  await mkdir(desk.path('default'), { recursive: true })
  await writeFile(desk.path('default', 'owner.json'), '{}')
  expect((await desk.run(['task', 'list'])).stderr).toContain(
    'hint: an owner is signed in here: bridge admin task list acts for the owner; bridge enroll ',
  )
  expect((await desk.run(['task', 'claim', '01980000-0000-7000-8000-000000000001'])).stderr).not.toContain(
    'admin',
  )
})
