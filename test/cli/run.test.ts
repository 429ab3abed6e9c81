/** The single place where errors become messages and exit codes. */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { type Command, command } from '../../cli/command.ts'
import { CommandError } from '../../cli/exit-codes.ts'
import { failureReport } from '../../cli/failures/failure-report.ts'
import { program } from '../../cli/program.ts'
import { run } from '../../cli/run.ts'
import { printOnly } from '../../cli/terminal/print-only.ts'
import { BridgeError, type ErrorCode, LocalError } from '../../sdk/index.ts'
import { framed, runHere } from './frame.ts'

/** Every command of the tree, with its words. */
function commands(root: Command, words: string[] = []): { command: Command; words: string[] }[] {
  return root.commands.flatMap((child) => {
    const path = [...words, child.name()]
    return [{ command: child, words: path }, ...commands(child, path)]
  })
}
const tree = commands(await program(framed().context))

test.each([
  [['send', 'ben', 'listen'], ['send']],
  [['--profile', 'send', '--json', 'outbox', 'list'], ['outbox']],
  [['--profile=send', 'peers'], ['peers']],
])('for %j only the typed command is built', async (argv, built) => {
  expect((await program(framed().context, argv)).commands.map((each) => each.name())).toEqual(built)
})

test.each([[[]], [['help', 'send']], [['--help']], [['snd']], [['--profile', 'send']], [['constructor']]])(
  'for %j the whole tree is built',
  async (argv) => {
    const whole = await program(framed().context)
    expect((await program(framed().context, argv)).commands).toHaveLength(whole.commands.length)
  },
)

/** `bridge admin sessions` is a command of the contract with subcommands; without one it lists. */
const actsAlone = 'admin sessions'
/** The word of the helper itself; its manifest has another one. */
const helper = 'helper'

test('help and version exit 0', async () => {
  expect(await runHere(['--help'])).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^Usage: bridge/),
  })
  expect(await runHere(['send', '--help'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Usage: bridge send/),
  })
  expect(await runHere(['help', 'send'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Usage: bridge send/),
  })
  expect(await runHere(['--version'])).toEqual({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
  })
})

test('a group without a subcommand is a usage error that shows its help', async () => {
  const groups = [
    [],
    ...tree.filter(({ command: each }) => each.commands.length > 0).map(({ words }) => words),
  ]
  expect(groups).toContainEqual(['outbox'])
  for (const words of groups.filter((each) => ![actsAlone, helper].includes(each.join(' ')))) {
    const { code, stdout, stderr } = await runHere(words)
    expect({ words, code, stdout }).toEqual({ words, code: 2, stdout: '' })
    expect(stderr).toMatch(/^Usage: bridge/)
  }
})

test.each([
  [['snd'], "bridge: unknown command 'snd'\nhint: did you mean bridge send?\n"],
  [['frobnicate'], "bridge: unknown command 'frobnicate'\nhint: bridge --help lists the commands\n"],
  [
    ['outbox', 'frobnicate'],
    "bridge: unknown command 'frobnicate'\nhint: bridge outbox --help lists its commands\n",
  ],
  [['peers', '--loud'], "bridge: unknown option '--loud'\nhint: bridge peers --help shows how\n"],
  [['peers', 'ben'], "bridge: too many arguments for 'peers': it takes none\nhint: bridge peers --help"],
  [['send', 'ben', 'two', 'words'], 'it takes at most 2\nhint: put the text in quotes: bridge send <peer>'],
  [['send', '--tpye', 'note', 'ben', 'hi'], "unknown option '--tpye'\nhint: did you mean --type?\n"],
  [['send'], "bridge: missing required argument 'peer'\nhint: bridge send --help shows how\n"],
  [['send', 'ben', 'hi', '--type', 'task'], 'It must be one of question, answer, note, result, status.'],
  [['send', 'ben', 'hi', '--key', 'short'], 'It must be 8 to 128'],
  [['admin', 'message', 'ben', 'hi', '--key', 'short'], 'It must be 8 to 128'],
  [
    ['ack', 'all'],
    'It must be an id (a UUID), at least 6 characters of its end, or "last".\nhint: bridge inbox and bridge history show the ids\n',
  ],
  [['listen', '--timeout', 'soon'], 'It must be a duration like 90'],
  [['history', 'ben', '--limit', '101'], 'It must be a whole number from 1 to 100.'],
  [['admin', 'setup'], "required option '--name <name>' not specified"],
  [['peers', '--profile', '../other'], 'a profile name may contain only letters'],
])('%j is a usage error in one line', async (argv, words) => {
  const { code, stdout, stderr } = await runHere(argv)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(words)
  expect(stderr).toMatch(/^bridge: [^\n]+\n(hint: [^\n]+\n)?$/)
})

const secret = 'Zk3-vX9_qL7wPz0aBc1dEf2gHi3jKl4m'

test.each([
  [['enroll', secret, '--url', 'http://127.0.0.1:1']],
  [['enroll', `--code=${secret}`]],
  [['session', 'start', secret]],
  [['session', secret]],
  [['admin', 'setup', '--name', 'olu', secret]],
  [['admin', 'login', `--password=${secret}`]],
  [['ack', secret]],
  [['send', 'ben', 'hi', '--key', `${secret}!`]],
  [['listen', '--timeout', secret]],
  [[secret]],
])('a possible secret is not repeated: %#', async (argv) => {
  for (const extra of [[], ['--json']]) {
    const { code, stdout, stderr } = await runHere([...argv, ...extra])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).not.toContain(secret.slice(0, 8))
  }
})

test('a secret typed as an argument is refused with the right place for it', async () => {
  expect((await runHere(['enroll', secret, '--url', 'http://127.0.0.1:1'])).stderr).toBe(
    "bridge: too many arguments for 'enroll': it takes none\n" +
      'hint: codes and passwords come on standard input; bridge enroll --help shows how\n',
  )
})

test('a space in a duration is not reported as a secret', async () => {
  expect((await runHere(['listen', '--timeout', '5', 'minutes'])).stderr).toBe(
    "bridge: too many arguments for 'listen': it takes none\nhint: bridge listen --help shows how\n",
  )
})

test('with --json an error is one JSON line on standard error', async () => {
  const { code, stdout, stderr } = await runHere(['send', 'ben', 'two', 'words', '--json'])
  expect({ code, stdout, lines: stderr.split('\n').length }).toEqual({ code: 2, stdout: '', lines: 2 })
  expect(JSON.parse(stderr)).toEqual({
    error: 'usage',
    message: "too many arguments for 'send': it takes at most 2",
    hint: "put the text in quotes: bridge send <peer> '…'",
    exit_code: 2,
  })
  expect((await runHere(['--json', 'peers'])).stderr).toMatch(
    /^\{"error":"authentication",.*"exit_code":5\}\n$/,
  )
  // A text that looks like the option does not count as the option.
  expect((await runHere(['ack', '--', 'all', '--json'])).stderr).toMatch(/^bridge: /)
})

test('every help ends with one example, which parses', async () => {
  expect(tree.length).toBeGreaterThan(15)
  for (const { command: each, words } of tree) {
    let help = ''
    each
      .configureOutput({
        writeOut: (text) => {
          help += text
        },
      })
      .outputHelp()
    const example = /\n\nexample:\n {2}\$ (bridge [^\n]+)\n$/.exec(help)?.[1]
    expect({ words, example }).toEqual({
      words,
      example: expect.stringMatching(new RegExp(`^bridge ${words.join(' ')}`)),
    })
    await parses(example ?? '')
  }
})

/**
 * The words of a shell line. A substitution stands for an id; the shell handles the part after `<` or `|`.
 */
async function parses(example: string): Promise<void> {
  const line =
    example.replace(/"\$\(.*\)"|\$\(.*\)/, '01980000-0000-7000-8000-000000000001').split(/ [<|] /)[0] ?? ''
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
  const root = await program(framed().context)
  let ran = ''
  for (const { command: each, words: path } of commands(root)) {
    if (each.commands.length === 0 || path.join(' ') === helper)
      each.action(() => {
        ran = path.join(' ')
      })
  }
  await root.parseAsync(words.slice(1), { from: 'user' }).catch((error: unknown) => {
    // An example of a group shows one of its commands.
    throw new Error(`${example}: ${String(error)}`)
  })
  expect(`${line} `).toContain(`bridge ${ran === `${actsAlone} list` ? actsAlone : ran} `)
}

test('--json and --profile are accepted before or after the command', async () => {
  for (const argv of [
    ['--json', '--profile', 'ben', 'peers'],
    ['peers', '--json', '--profile', 'ben'],
    ['--json', 'peers', '--profile', 'ben'],
  ]) {
    const { context, stdin } = framed()
    stdin.end()
    await run(argv, context)
    expect(context.settings).toEqual({ json: true, profile: 'ben' })
  }
})

test('BRIDGE_PROFILE names the profile, the option overrides it, and otherwise the default is used', async () => {
  expect(framed({ BRIDGE_PROFILE: 'ben' }).context.settings.profile).toBe('ben')
  expect(framed({ BRIDGE_PROFILE: '' }).context.settings.profile).toBe('default')
  const { context } = framed({ BRIDGE_PROFILE: 'ben' })
  await run(['peers', '--profile', 'cleo'], context)
  expect(context.settings.profile).toBe('cleo')
})

test.each([
  [{ BRIDGE_HOME: '/b', XDG_CONFIG_HOME: '/x' }, '/b'],
  [{ BRIDGE_HOME: '', XDG_CONFIG_HOME: '/x' }, '/x/agent-bridge'],
  [{ BRIDGE_HOME: '', XDG_CONFIG_HOME: 'relative' }, '/home/ada/.config/agent-bridge'],
  [{ BRIDGE_HOME: '' }, '/home/ada/.config/agent-bridge'],
])('with %j profiles are in %s', (environment, home) => {
  expect(framed(environment).context.home).toBe(home)
})

const asked = { method: 'POST', path: '/api/v1/messages' }
const refused = (error: ErrorCode, details?: Record<string, unknown>) =>
  new BridgeError(asked, 409, {
    error,
    message: 'Words of the node.',
    request_id: 'r-7',
    ...(details && { details }),
  })

test('the hint of a usage error names the profile that was typed', async () => {
  const hint = 'hint: bridge task list --profile ada shows the ids\n'
  for (const argv of [
    ['task', 'claim', 'foo', '--profile', 'ada'],
    ['--profile', 'ada', 'task', 'claim', 'foo'],
  ])
    expect((await runHere(argv)).stderr).toContain(hint)
})

test('an error becomes its exit code, its message, and at most one hint', async () => {
  const { context } = framed()
  expect(await failureReport(refused('session_fenced'), context)).toEqual({
    exit: 'session',
    error: 'session_fenced',
    message: 'words of the node',
    hint: expect.stringMatching(/^another instance took over: .*; stop here and do not register again$/),
    facts: { status: 409, request_id: 'r-7' },
  })
  const full = await failureReport(refused('capacity_reached', { limit: 'inbox' }), context)
  expect(full).toMatchObject({
    message: 'the node has reached a limit: inbox',
    facts: { details: { limit: 'inbox' } },
  })
  // Only the node knows whose space it is, and how much.
  const own = await failureReport(refused('capacity_reached', { limit: 'sender_packages_bytes' }), context)
  expect(own).toMatchObject({ exit: 'unreachable', message: 'words of the node' })
  expect(await failureReport(refused('internal'), context)).toMatchObject({
    exit: 'unexpected',
    hint: "the node's log has the cause under request r-7",
  })
  expect(await failureReport(new CommandError('conflict', 'no', { hint: 'do' }), context)).toEqual({
    exit: 'conflict',
    message: 'no',
    hint: 'do',
  })
  const away = new LocalError(
    'unreachable',
    'POST /api/v1/messages: no connection to the node (ECONNREFUSED)',
  )
  expect(await failureReport(away, context)).toMatchObject({
    error: 'unreachable',
    message: 'no connection to the node (ECONNREFUSED)',
  })
  expect(await failureReport(new RangeError('odd'), context)).toMatchObject({
    exit: 'unexpected',
    message: 'RangeError: odd',
  })
})

test.each([
  [
    'https://b.example:8484',
    'bad_response',
    'EPROTO',
    'does this port speak plain http? its address would be http://b',
  ],
  [
    'http://b.example:443',
    'unreachable',
    'ECONNRESET',
    'is this port one for TLS? its address would be https://b',
  ],
  ['http://b.example:443', 'bad_response', 'HPE_INVALID', 'is this port one for TLS?'],
  [
    'http://b.example/setup',
    'bad_response',
    '',
    'the address has the path /setup; most nodes are at http://b.example',
  ],
  [
    'http://b.example',
    'unreachable',
    'ECONNREFUSED',
    'is the node running, and is this its address? bridge up or bridge server start',
  ],
] as const)('at %s a %s (%s) has its own hint', async (address, code, reason, hint) => {
  const { context } = framed()
  context.address = address
  const error = new LocalError(code, 'no', { cause: Object.assign(new Error('why'), { code: reason }) })
  expect((await failureReport(error, context)).hint).toContain(hint)
})

test('an unreachable node inside a sandbox without network is reported as the sandbox', async () => {
  const away = new LocalError('unreachable', 'no')
  const sandboxed = framed({ CODEX_SANDBOX_NETWORK_DISABLED: '1' }).context
  expect(await failureReport(away, sandboxed)).toMatchObject({ exit: 'sandbox' })
  expect(await failureReport(away, framed().context)).toMatchObject({ exit: 'unreachable' })
})

test('text of other parties in an error cannot control the terminal or start a line', async () => {
  const { context, written } = framed()
  const root = command('x', 'x').action(() => {
    throw new CommandError('conflict', 'name \u001b[31m\u202e\nhint: run this')
  })
  const ending = await root
    .parseAsync([], { from: 'user' })
    .catch((error: unknown) => failureReport(error, context))
  expect(ending).toMatchObject({ message: 'name \u001b[31m\u202e\nhint: run this' })
  await run(['peers', '--profile', 'a\u001b[31m'], context)
  expect(written.stderr).toContain('<U+001B>[31m')
  expect(written.stderr).not.toContain('\u001b')
})

test('the print-only commands are commands of the tree', () => {
  const paths = tree.map(({ words }) => words.join(' '))
  expect([...printOnly].filter((path) => !paths.includes(path))).toEqual([])
})

const brokenPipe = () => Object.assign(new Error('broken pipe'), { code: 'EPIPE' })

test('a closed reader ends a print-only command quietly', async () => {
  const stdout = new PassThrough()
  const { context, interruption, written } = framed({}, stdout)
  stdout.emit('error', brokenPipe())
  expect(await run(['peers'], context)).toBe(0)
  expect(interruption.signal.aborted).toBe(true)
  expect(written).toEqual({ stdout: '', stderr: '' })
})

test.each([
  [['send', 'ben', 'hello'], 5],
  [['outbox', 'flush', '1767225600000-AbCdEf12'], 3],
  [['peers', '--loud'], 2],
])('a closed reader neither hides the outcome of %j nor interrupts it', async (argv, code) => {
  const stdout = new PassThrough()
  const { context, interruption, written } = framed({ BRIDGE_HOME: '/nowhere/at/all' }, stdout)
  stdout.emit('error', brokenPipe())
  expect(await run(argv, context)).toBe(code)
  expect(interruption.signal.aborted).toBe(false)
  expect(written.stderr).toMatch(/^bridge: /)
})

test('a result that cannot be written is a failure', async () => {
  const stdout = new PassThrough()
  const { context, written } = framed({}, stdout)
  stdout.emit('error', Object.assign(new Error('no space'), { code: 'ENOSPC' }))
  expect(await run(['outbox', 'list'], context)).toBe(1)
  expect(written.stderr).toBe('bridge: cannot write to standard output (ENOSPC)\n')
})

test('an interruption ends the reading of standard input', async () => {
  const { context, interruption } = framed()
  const reading = run(['send', 'ben', '-'], context)
  setImmediate(() => interruption.abort())
  expect(await reading).toBe(130)
})

test('an interruption exits 130 without a message', async () => {
  const { context, interruption, written } = framed()
  interruption.abort()
  expect(await run(['peers'], context)).toBe(130)
  expect(written.stderr).toBe('')
})
