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
import { settings } from '../../server/config.ts'
import { code, codes, link, page, table } from './markdown.ts'

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
      ['command', ''],
      commands.map(({ command, path }) => [link(code(path), '', path), command.description()]),
    ),
    '## Options of every command',
    table(['option', ''], (await tree(nowhere)).options.map(optionRow)),
    '## Each command',
    ...commands.map(section),
    '## Errors',
    'An error is one line `bridge: …` on standard error, and at most one line `hint: …` with a next step. With' +
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
      ['variable', ''],
      Object.entries(environment).map(([name, meaning]) => [code(name), meaning]),
    ),
    'The variables for the settings of the server are in [operations.md](operations.md#settings).',
    '## Exit codes',
    'The last column lists the codes of [errors.md](errors.md) and, in italics, errors of the program itself.' +
      ' `unrecognized` is a code that this version of the program does not know.',
    table(['code', 'name', 'meaning', 'reasons'], exitRows()),
    '## For a coding agent',
    '`bridge help agents` prints this text, for the instructions of an agent:',
    ['```text', primer(await tree(nowhere)), '```'].join('\n'),
  ])
}

const nowhere = (): Writable => new PassThrough()

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
    rows.length === 0 ? '' : table(['', ''], rows),
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

const argumentRow = (argument: Argument): string[] => [code(argumentWord(argument)), argument.description]

function optionRow(option: Option): string[] {
  const notes = [
    option.description,
    option.argChoices ? `one of ${codes(option.argChoices)}` : '',
    option.mandatory ? 'required' : '',
    option.defaultValue === undefined ? '' : `default ${String(option.defaultValue)}`,
  ]
  return [code(option.flags), notes.filter((note) => note !== '').join('; ')]
}

const exitRows = (): string[][] =>
  (Object.keys(exitCodes) as ExitName[]).map((name) => [
    code(String(exitCodes[name])),
    name,
    exitMeanings[name],
    [...named(refusalExits, name).map(code), ...named(localExits, name).map((each) => `*${each}*`)].join(
      ', ',
    ),
  ])

const named = (exits: Readonly<Record<string, ExitName>>, name: ExitName): string[] =>
  Object.keys(exits).filter((each) => exits[each] === name)
