/**
 * Generates docs/cli.md: the command tree, the environment and the exit codes.
 *
 * It runs each command with `--help`, because some options are added only when a command runs.
 */
import { PassThrough, Writable } from 'node:stream'
import type { Argument, Command, Option } from 'commander'
import { UsageError } from '../../cli/command.ts'
import { createContext } from '../../cli/create-context.ts'
import { type ExitName, exitCodes, localExits, refusalExits } from '../../cli/exit-codes.ts'
import { program } from '../../cli/program.ts'
import { environment, exitMeanings, primer } from '../../cli/terminal/help-topics.ts'
import { settings } from '../../server/settings.ts'
import { capital, code, codes, facts, linkedSentence, page, stopped, table } from './markdown.ts'

/** Command with the example from its help. */
interface DescribedCommand {
  readonly command: Command
  readonly path: string
  readonly example: string
}

export async function cliPage(): Promise<string> {
  const paths = leavesOf(await tree(nowhere)).map(pathOf)
  const commands: DescribedCommand[] = []
  for (const path of paths) commands.push(await describedCommand(path))
  return page('Command line', [
    'One program, `bridge`. Data goes to standard output, everything else to standard error. Without a terminal there is' +
      ' no colour and no prompt. Secrets come from standard input or a file, never from an argument.',
    '## Commands',
    table(
      ['command', 'purpose'],
      commands.map(({ command, path }) => [code(path), linkedSentence(command.description(), '', path)]),
    ),
    '## Options of every command',
    table(['option', 'meaning'], (await tree(nowhere)).options.map(optionRow)),
    '## Each command',
    ...commands.map(section),
    '## Errors',
    'An error is one line `bridge: …` on standard error, and at most one `hint: …` with a next step. With' +
      ' `--json` it is one JSON object on the last line of standard error:',
    [
      '```json',
      '{"error":"session_fenced","message":"…","hint":"…","exit_code":6,"status":409,"request_id":"…"}',
      '```',
    ].join('\n'),
    '`error` is a code of [errors.md](errors.md), or else the name of the exit code below; `message` and `hint` are for' +
      ' people. `status`, `request_id`, `retry_after_ms` and `details` are present if the node sent them. An interrupted' +
      ' command may print no error. `BRIDGE_DEBUG=1` adds the stack trace, with and without `--json`.',
    'If the reader of standard output closes it (`bridge listen | head`), a command that only prints ends with exit 0. The' +
      ' next run prints the messages that the reader did not get. If standard output is closed, `send`, `ask` and `reply`' +
      ' report on standard error what they stored, and their exit code does not change.',
    '## Environment',
    table(
      ['variable', 'meaning'],
      Object.entries(environment).map(([name, meaning]) => [code(name), meaning]),
    ),
    'The variables for the settings of the server are in [operations.md](operations.md#settings).',
    '## Exit codes',
    table(['code', 'name', 'meaning'], exitRows()),
    'These errors lead to each exit code. They are codes of [errors.md](errors.md) and, in italics, errors of the' +
      ' program itself. `unrecognized` is a code that this version of the program does not know.',
    facts(exitReasons()),
    '## For a coding agent',
    '`bridge help agents` prints this text, for the instructions of an agent:',
    ['```text', primer(await tree(nowhere)), '```'].join('\n'),
  ])
}

const nowhere = (): Writable => new PassThrough()

/** Capitalizes a text of the help, unless it begins with the values that may be given. */
const prose = (text: string): string => (/^[a-z_]+(?:,| \(|:)/.test(text) ? text : capital(text))

/** Returns the command tree of the real program, with a given standard output. */
function tree(output: () => Writable): Promise<Command> {
  const streams = { stdin: new PassThrough(), stdout: output(), stderr: new PassThrough() }
  return program(
    createContext({
      streams,
      environment: {},
      clock: () => new Date(0),
      random: (bytes) => Buffer.alloc(bytes),
      homeDirectory: '/home/you',
      interruption: new AbortController(),
    }),
  )
}

/**
 * Returns the commands that run something, in the order of the help. A command that only groups others has no
 * options.
 */
const leavesOf = (command: Command): Command[] =>
  command.commands.flatMap((each) => [...(each.options.length > 0 ? [each] : []), ...leavesOf(each)])

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}

async function describedCommand(path: string): Promise<DescribedCommand> {
  const words = path.split(' ').slice(1)
  let help = ''
  const root = await tree(
    () =>
      new Writable({
        write(chunk: Buffer, _encoding, done) {
          help += chunk.toString('utf8')
          done()
        },
      }),
  )
  await root.parseAsync([...words, '--help'], { from: 'user' }).catch((error: unknown) => {
    if (!(error instanceof UsageError)) throw error
  })
  const command = words.reduce((parent, word) => childOf(parent, word), root)
  const example = /\nexample:\n {2}\$ ([\s\S]+?)\s*$/.exec(help)?.[1]
  if (example === undefined) throw new Error(`the help of ${path} ends with no example`)
  return { command, path, example }
}

function childOf(parent: Command, word: string): Command {
  const child = parent.commands.find((each) => each.name() === word)
  if (child === undefined) throw new Error(`there is no command ${word}`)
  return child
}

const common = new Set(['--json', '--profile', '--help'])
const settingFlags = new Set(settings.map(({ name }) => `--${name.replaceAll('_', '-')}`))

function section({ command, path, example }: DescribedCommand): string {
  const own = command.options.filter(({ long, hidden }) => !common.has(long ?? '') && !hidden)
  const isOfServer = path.startsWith('bridge server ')
  const listed = own.filter(({ long }) => !isOfServer || !settingFlags.has(long ?? ''))
  const usage = [
    path,
    ...command.registeredArguments.map(argumentWord),
    ...(own.length > 0 ? ['[options]'] : []),
  ]
  const rows = [...command.registeredArguments.map(argumentRow), ...listed.map(optionRow)]
  return [
    `### ${path}`,
    command.description(),
    code(usage.join(' ')),
    rows.length === 0 ? '' : table(['option', 'meaning'], rows),
    own.length === listed.length ? '' : 'And a flag for each of the [settings](operations.md#settings).',
    ['```sh', example, '```'].join('\n'),
  ]
    .filter((block) => block !== '')
    .join('\n\n')
}

const argumentWord = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${name}>` : `[${name}]`
}

const argumentRow = (argument: Argument): string[] => [
  code(argumentWord(argument)),
  prose(argument.description),
]

function optionRow(option: Option): string[] {
  const notes = [
    prose(option.description),
    option.argChoices ? `One of ${codes(option.argChoices)}` : '',
    option.mandatory ? 'Required' : '',
    option.defaultValue === undefined ? '' : `Default ${String(option.defaultValue)}`,
  ]
  return [
    code(option.flags),
    notes
      .filter((note) => note !== '')
      .map(stopped)
      .join(' '),
  ]
}

const exitNames = Object.keys(exitCodes) as ExitName[]

const exitRows = (): string[][] =>
  exitNames.map((name) => [code(String(exitCodes[name])), name, exitMeanings[name]])

const exitReasons = (): (readonly [code: string, reasons: string])[] =>
  exitNames
    .map((name) => {
      const local = named(localExits, name).map((each) => `*${each}*`)
      return [
        code(String(exitCodes[name])),
        [...named(refusalExits, name).map(code), ...local].join(', '),
      ] as const
    })
    .filter(([, reasons]) => reasons !== '')

const named = (exits: Readonly<Record<string, ExitName>>, name: ExitName): string[] =>
  Object.keys(exits).filter((each) => exits[each] === name)
