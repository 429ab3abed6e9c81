/**
 * Runs the examples in the help of the owner's commands, exactly as printed.
 *
 * A shell reads each line. One line in eight, and each that is more than one command, starts the program; the
 * words of the others run in this process. BRIDGE_PROGRAMS=1 starts the program for all.
 *
 * They run in the order of the command tree, one after another on one node. The examples of setup, login,
 * logout and password start or end a sign-in, or need a terminal; test/cli/admin.test.ts runs them. The
 * example of watch does not end; test/cli/admin-upkeep.test.ts runs it.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Command } from '../../cli/command.ts'
import { adminCommand } from '../../cli/commands/admin/admin.ts'
import type { CliContext } from '../../cli/context.ts'
import { enroll } from '../support/agent.ts'
import { Desk } from '../support/desk.ts'
import { offer } from '../support/files.ts'
import { codeOf } from '../support/owner.ts'
import { startServerProcess } from '../support/process.ts'
import { compileCache, program } from '../support/program.ts'
import { TestHome } from '../support/test-home.ts'

const apart = new Set(['setup', 'login', 'logout', 'password', 'watch'])

/** Every command without subcommands, as its words. */
const leaves = (command: Command, words: readonly string[] = []): string[][] =>
  command.commands.length === 0
    ? [[...words, command.name()]]
    : command.commands.flatMap((child) => leaves(child, [...words, command.name()]))

/** These run last: a takeover leaves its agent waiting for the grant, and a deleted project is unusable. */
const last = ['admin takeover', 'admin project delete']
const rank = (words: readonly string[]) => last.indexOf(words.join(' '))

const commands = leaves(adminCommand({} as CliContext))
  .filter(([, noun = '']) => !apart.has(noun))
  .sort((one, other) => rank(one) - rank(other))

test('every example of the owner commands works as printed', async () => {
  const node = await startServerProcess()
  onTestFinished(() => node.close())
  const desk = await Desk.make()
  onTestFinished(() => desk.remove())
  // Typed commands run as processes with the profile that the desk has signed in.
  const home = TestHome.at(desk.folder)
  const admin = (...args: string[]) => desk.run(['admin', ...args])
  const setup = ['setup', '--name', 'olu', '--url', node.url, '--password-stdin']
  await desk.run(['admin', ...setup], { stdin: `${node.setupLink}\ncorrect horse battery staple\n` })
  const signIn = ['admin', 'login', '--password-stdin']
  expect(await desk.run(signIn, { stdin: 'correct horse battery staple\n' })).toMatchObject({ code: 0 })

  /** Enrolls the agent again, because an example revokes its credential. */
  const letIn = async (name: string) => {
    const { stdout } = await admin('enrollment', 'create', name)
    const agent = await enroll(node.url, codeOf(stdout), () => new Date())
    await agent.startSession()
    return agent
  }
  const adaSays = async (text: string) => {
    const ada = await letIn('ada')
    await ada.send(await ada.conversationWith(ada.id), ada.id, text)
  }

  /** Prepares the state that an example needs and that earlier examples did not leave. */
  const arrange: Readonly<Record<string, () => Promise<void>>> = {
    'admin pairing enable': async () => {
      await admin('project', 'state', 'demo', 'active')
      await admin('agent', 'create', 'ben')
    },
    'admin agent name': async () => {
      await admin('agent', 'create', 'eve')
    },
    'admin enrollment create': async () => {
      await admin('agent', 'state', 'ada', 'enabled')
    },
    'admin credential revoke': () => adaSays('ready when you are'),
    'admin transfer list': async () => {
      await admin('pairing', 'enable', 'ada', 'ben')
      await offer({ from: await letIn('ada'), to: await letIn('ben'), bytes: Buffer.from('a file') })
    },
    'admin reply': () => adaSays('may I?'),
    // Otherwise the latest message would be the owner's own, which the owner cannot acknowledge.
    'admin ack': () => adaSays('half of it'),
  }

  const type = await shell(home)
  for (const [at, words] of commands.entries()) {
    const name = words.join(' ')
    const { stdout: help } = await desk.run([...words, '--help'])
    const example = /\nexample:\n {2}\$ (.*)\n$/.exec(help)?.[1] ?? `no example in the help of ${name}`
    expect(example).toMatch(new RegExp(`^bridge ${name.replace(' list', '( list)?')}\\b`))
    await arrange[name]?.()
    const starts = process.env.BRIDGE_PROGRAMS !== undefined || at % 8 === 0 || /[|;&<>$`]/.test(example)
    expect(await (starts ? type(example) : desk.run(wordsOf(example))), example).toMatchObject({
      code: 0,
      stderr: expect.not.stringContaining('bridge:'),
    })
  }
})

/** The words that a shell passes to `bridge`. */
function wordsOf(line: string): string[] {
  const printing = `bridge() { printf '%s\\0' "$@"; }\n${line}`
  return execFileSync('sh', ['-c', printing], { encoding: 'utf8' }).split('\0').slice(0, -1)
}

/** A shell that finds `bridge`. */
async function shell(home: TestHome) {
  const bin = join(home.folder, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'bridge'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
    mode: 0o755,
  })
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: home.folder,
    BRIDGE_HOME: join(home.folder, 'bridge'),
    NODE_COMPILE_CACHE: compileCache,
  }
  return async (line: string) => {
    const child = spawn('sh', ['-c', line], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const texts = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text
      })
    }
    const [code] = (await once(child, 'close')) as [number]
    return { code, ...texts }
  }
}
