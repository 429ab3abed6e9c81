/** The permission hook of Claude Code allows our reading commands and nothing that a shell could make of them. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readsOwnMail } from '../../../cli/hooks/permission.ts'

const links: Readonly<Record<string, string>> = {
  '/opt/agent-bridge/dist/bridge.cjs': '/opt/agent-bridge/dist/bridge.cjs',
  '/usr/local/bin/agent-bridge': '/opt/agent-bridge/dist/bridge.cjs',
  '/tmp/agent-bridge': '/tmp/agent-bridge',
  '/home/ada/.agent-bridge/1/agent-bridge': '/home/ada/.agent-bridge/1/agent-bridge',
  '/home/ada/.agent-bridge/1/agent-bridge.cjs': '/home/ada/.agent-bridge/1/agent-bridge.cjs',
  '/home/ada/.agent-bridge/2/agent-bridge': '/home/ada/.agent-bridge/2/agent-bridge',
}
const options = {
  program: '/opt/agent-bridge/dist/bridge.cjs',
  profile: 'ada',
  realPath: (path: string) => {
    const found = links[path]
    if (found === undefined) throw new Error('ENOENT')
    return found
  },
}
const allows = (command: unknown, more = {}, tool = 'Bash') =>
  readsOwnMail(tool, { command, description: 'Read mail', ...more }, options)

const programs = ['agent-bridge', '/usr/local/bin/agent-bridge', '/opt/agent-bridge/dist/bridge.cjs']
const names = ['inbox', 'ack', 'status', 'history', 'peers', 'whoami', 'guide']

test.each(programs.flatMap((program) => names.map((name) => `${program} ${name}`)))(
  '%s is allowed',
  (command) => {
    expect(allows(command)).toBe(true)
    expect(allows(`${command} --json last 01980000-0000-7000-8000-00000000000a`)).toBe(true)
    expect(allows(`${command} --profile ada`)).toBe(true)
    expect(allows(`${command} last --profile ada --json`)).toBe(true)
  },
)

test.each([
  'agent-bridge',
  'agent-bridge send ben hi',
  'agent-bridge task complete last',
  'agent-bridge hooks run claude wait',
  'agent-bridge --profile ben inbox',
  'agent-bridge inbox --profile ben',
  'agent-bridge inbox --profile=ben',
  'agent-bridge inbox --profile',
  'agent-bridge inbox --profile ada --profile ben',
  'agent-bridge inbox --profile --profile ada',
  'agent-bridge inbox --profile=ada',
  'agent-bridge inbox --profile adam',
  'agent-bridge admin inbox',
  'agent-bridge admin ack last --profile ada',
  'agent-bridge server status',
  'agent-bridge transfer send a.txt --to ben --profile ada',
  'agent-bridge up',
  'agent-bridge ack --all',
  'agent-bridge ack --all last',
  '/usr/local/bin/agent-bridge ack --json --all',
  'agent-bridge  inbox',
  ' agent-bridge inbox',
  'agent-bridge inbox ',
  'bridge inbox',
  './agent-bridge inbox',
  '../agent-bridge inbox',
  '/tmp/agent-bridge inbox',
  '/nowhere/agent-bridge inbox',
  'sudo agent-bridge inbox',
  'agent-bridge inbox agent-bridge; inbox',
  'PATH=/tmp agent-bridge inbox',
  '',
])('%j is left to the rules of the harness', (command) => {
  expect(allows(command)).toBe(false)
})

test('the launcher of the installed client is this program, and one of another installation is not', () => {
  const installed = { ...options, program: '/home/ada/.agent-bridge/1/agent-bridge.cjs' }
  const runs = (command: string) => readsOwnMail('Bash', { command }, installed)
  expect(runs('/home/ada/.agent-bridge/1/agent-bridge inbox --profile ada')).toBe(true)
  expect(runs('/home/ada/.agent-bridge/1/agent-bridge.cjs ack last')).toBe(true)
  for (const command of [
    '/home/ada/.agent-bridge/1/agent-bridge inbox --profile ben',
    '/home/ada/.agent-bridge/1/agent-bridge transfer send x --to ben',
    '/home/ada/.agent-bridge/1/agent-bridge admin inbox',
    '/home/ada/.agent-bridge/1/agent-bridge server backup x',
    '/home/ada/.agent-bridge/1/agent-bridge inbox; id',
    '/home/ada/.agent-bridge/1/agent-bridge inbox $(id)',
    '/home/ada/.agent-bridge/2/agent-bridge inbox',
    '/home/ada/.agent-bridge/1/../2/agent-bridge inbox',
    '/tmp/agent-bridge inbox',
    '~/.agent-bridge/1/agent-bridge inbox',
  ])
    expect([command, runs(command)]).toEqual([command, false])
})

test('without a profile of the session, no command that names one is allowed', () => {
  const unbound = { ...options, profile: undefined }
  expect(readsOwnMail('Bash', { command: 'agent-bridge inbox --profile ada' }, unbound)).toBe(false)
  expect(readsOwnMail('Bash', { command: 'agent-bridge inbox --profile undefined' }, unbound)).toBe(false)
})

test('another tool, another field and an input that is no object are left to the rules of the harness', () => {
  expect(allows('agent-bridge inbox', {}, 'PowerShell')).toBe(false)
  expect(allows('agent-bridge inbox', { dangerouslyDisableSandbox: true })).toBe(false)
  expect(allows(['agent-bridge inbox'])).toBe(false)
  for (const input of [null, undefined, 'agent-bridge inbox', []])
    expect(readsOwnMail('Bash', input, options)).toBe(false)
})

const metacharacters = [
  ...';&|<>()$`\\"\'*?[]{}#~=%!^,:@+\n\r\t\0\u2028\u00a0\v\f',
  '$(id)',
  '`id`',
  '&& id',
  '|| id',
  '; id',
  '| sh',
  '> /tmp/x',
  '>> /tmp/x',
  '< /etc/passwd',
  '<(id)',
  `$\{IFS}`,
  '\nid',
  '\r\nid',
  '\\\nid',
  '"$(id)"',
  "'x'",
  '<<EOF',
  '&',
  '#',
  '!!',
]

test('no command with a character that a shell interprets is allowed, wherever it stands', () => {
  const parts = fc.record({
    program: fc.constantFrom(...programs),
    name: fc.constantFrom(...names),
    words: fc.array(fc.stringMatching(/^[a-z0-9-]{1,8}$/), { maxLength: 3 }),
    inserted: fc.constantFrom(...metacharacters),
    at: fc.nat(),
  })
  fc.assert(
    fc.property(parts, ({ program, name, words, inserted, at }) => {
      const whole = [program, name, ...words].join(' ')
      const place = at % (whole.length + 1)
      expect(allows(whole.slice(0, place) + inserted + whole.slice(place))).toBe(false)
    }),
    { numRuns: 2000 },
  )
})

test('any text that is allowed is one of our commands and plain words', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
      for (const command of [text, `agent-bridge inbox${text}`, `agent-bridge ${text}`]) {
        if (allows(command)) expect(command).toMatch(/^agent-bridge [a-z]+( [A-Za-z0-9._-]+)*$/)
      }
    }),
  )
})

test('tools of our MCP server that read are allowed, and no others', () => {
  const ofOurs = (name: string) => readsOwnMail(`mcp__plugin_agent-bridge_agent-bridge__${name}`, {}, options)
  expect(['inbox', 'ack', 'history', 'peers'].map(ofOurs)).toEqual([true, true, true, true])
  expect(['send', 'reply', 'task', 'files', 'inbox2', ''].filter(ofOurs)).toEqual([])
  expect(readsOwnMail('mcp__other__inbox', {}, options)).toBe(false)
})
