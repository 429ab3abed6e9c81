/** Parsing of the owner's commands, without a node. */
import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import type { Command } from '../../cli/command.ts'
import { ackCommand } from '../../cli/commands/admin/ack.ts'
import { assignCommand } from '../../cli/commands/admin/administrator/assign.ts'
import { createAdministratorCommand } from '../../cli/commands/admin/administrator/create.ts'
import { linkAdministratorCommand } from '../../cli/commands/admin/administrator/link.ts'
import { administratorStateCommand } from '../../cli/commands/admin/administrator/state.ts'
import { changeAgentCommand } from '../../cli/commands/admin/agent/change.ts'
import { createAgentCommand } from '../../cli/commands/admin/agent/create.ts'
import { instructionsCommand } from '../../cli/commands/admin/agent/instructions.ts'
import { nameAgentCommand } from '../../cli/commands/admin/agent/name.ts'
import { agentStateCommand } from '../../cli/commands/admin/agent/state.ts'
import { auditCommand } from '../../cli/commands/admin/audit.ts'
import { broadcastCommand } from '../../cli/commands/admin/broadcast.ts'
import { revokeCredentialCommand } from '../../cli/commands/admin/credential/revoke.ts'
import { createEnrollmentCommand } from '../../cli/commands/admin/enrollment/create.ts'
import { listEnrollmentsCommand } from '../../cli/commands/admin/enrollment/list.ts'
import { revokeEnrollmentCommand } from '../../cli/commands/admin/enrollment/revoke.ts'
import { changeEnvironmentCommand } from '../../cli/commands/admin/environment/change.ts'
import { createEnvironmentCommand } from '../../cli/commands/admin/environment/create.ts'
import { historyCommand } from '../../cli/commands/admin/history.ts'
import { loginCommand } from '../../cli/commands/admin/login.ts'
import { messageCommand } from '../../cli/commands/admin/message.ts'
import { setPairingCommand } from '../../cli/commands/admin/pairing/set.ts'
import { passwordCommand } from '../../cli/commands/admin/password.ts'
import { changeProjectCommand } from '../../cli/commands/admin/project/change.ts'
import { createProjectCommand } from '../../cli/commands/admin/project/create.ts'
import { deleteProjectCommand } from '../../cli/commands/admin/project/delete.ts'
import { listProjectsCommand } from '../../cli/commands/admin/project/list.ts'
import { projectStateCommand } from '../../cli/commands/admin/project/state.ts'
import { setupCommand } from '../../cli/commands/admin/setup.ts'
import { listTasksCommand } from '../../cli/commands/admin/task/list.ts'
import type { CliContext } from '../../cli/context.ts'
import { createContext } from '../../cli/create-context.ts'

const id = '01a1fc00-0f7d-7002-a6f0-578f3fab7dfe'
const other = '01a1fc00-0f7d-7002-a6f0-578f3fab7dff'

const context = createContext({
  streams: { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
  environment: {},
  clock: () => new Date(0),
  random: randomBytes,
  homeDirectory: '/dev/null',
  interruption: new AbortController(),
})

type Make = (context: CliContext, run: (...args: unknown[]) => Promise<void>) => Command

/** Returns the arguments that `run` is called with, without the context. */
async function parsed(make: Make, argv: readonly string[]): Promise<unknown[]> {
  const run = vi.fn(async () => {})
  const command = make(context, run).configureOutput({ writeErr: () => {}, outputError: () => {} })
  await command.parseAsync([...argv], { from: 'user' })
  const [call] = run.mock.calls as unknown[][]
  return call?.slice(1) ?? []
}

const unassign: Make = (to, run) => assignCommand(to, 'unassign', run)
const enable: Make = (to, run) => setPairingCommand(to, 'enable', run)

const accepted: readonly (readonly [string, Make, readonly string[], readonly unknown[]])[] = [
  ['setup', setupCommand, ['--name', 'olu'], [{ name: 'olu' }]],
  [
    'setup with everything from standard input',
    setupCommand,
    ['--name', 'olu', '--url', 'https://b.example', '--password-stdin'],
    [{ name: 'olu', url: 'https://b.example', passwordStdin: true }],
  ],
  ['login without options', loginCommand, [], [{}]],
  ['login with a link', loginCommand, ['--link'], [{ link: true }]],
  ['password', passwordCommand, ['--password-stdin'], [{ passwordStdin: true }]],
  ['project create', createProjectCommand, ['demo'], ['demo', {}]],
  [
    'project create with a policy',
    createProjectCommand,
    ['demo', '--idle-seconds', '15m', '--message-budget', '5', '--audit-days', '30'],
    ['demo', { idleSeconds: 900, messageBudget: 5, auditDays: 30 }],
  ],
  [
    'project change',
    changeProjectCommand,
    ['demo', '--name', 'orchard', '--idle-seconds', 'default', '--audit-days', '30'],
    ['demo', { name: 'orchard', idleSeconds: 'default', auditDays: 30 }],
  ],
  ['environment change', changeEnvironmentCommand, ['desk', '--kind', 'ci'], ['desk', { kind: 'ci' }]],
  ['agent change', changeAgentCommand, ['ada', '--role', ''], ['ada', { role: '' }]],
  [
    'agent change to no environment',
    changeAgentCommand,
    ['ada', '--no-environment'],
    ['ada', { environment: false }],
  ],
  ['project state', projectStateCommand, ['demo', 'paused'], ['demo', 'paused']],
  [
    'project delete',
    deleteProjectCommand,
    ['demo', '--confirm', 'demo', '--password-stdin'],
    ['demo', { confirm: 'demo', passwordStdin: true }],
  ],
  ['administrator create', createAdministratorCommand, ['kim', '--ttl', '1d'], ['kim', { ttl: 86_400 }]],
  ['administrator link', linkAdministratorCommand, ['kim'], ['kim', {}]],
  [
    'administrator unassign',
    unassign,
    ['kim', 'demo'],
    ['unassign', { administrator: 'kim', project: 'demo' }, {}],
  ],
  ['administrator state', administratorStateCommand, ['kim', 'disabled'], ['kim', 'disabled', {}]],
  ['agent name', nameAgentCommand, ['ada', 'eve'], [{ agent: 'ada', newName: 'eve' }, {}]],
  ['agent instructions', instructionsCommand, ['ada', '--file', '-'], ['ada', { file: '-' }]],
  [
    'enrollment list',
    listEnrollmentsCommand,
    ['--agent', 'ada', '--state', 'pending'],
    [{ agent: 'ada', state: 'pending' }],
  ],
  ['task list', listTasksCommand, ['--newest', '--state', 'open'], [{ newest: true, state: 'open' }]],
  ['project list', listProjectsCommand, ['--newest'], [{ newest: true }]],
  ['enrollment revoke', revokeEnrollmentCommand, [id.toUpperCase()], [id, {}]],
  ['environment create', createEnvironmentCommand, ['desk'], ['desk', { kind: 'other' }]],
  [
    'agent create',
    createAgentCommand,
    ['ada', '--role', 'reviewer', '--project', 'demo'],
    ['ada', { role: 'reviewer', project: 'demo' }],
  ],
  ['agent state', agentStateCommand, ['ada', 'disabled'], ['ada', 'disabled', {}]],
  ['pairing enable', enable, ['ada', 'ben'], ['enable', ['ada', 'ben'], {}]],
  ['enrollment create', createEnrollmentCommand, ['ada'], ['ada', { binding: 'key' }]],
  [
    'enrollment create with limited scopes',
    createEnrollmentCommand,
    [
      'ada',
      '--binding',
      'device',
      '--ttl',
      '1d',
      '--scope',
      'messages',
      '--scope',
      'tasks:read',
      '--keep-existing',
    ],
    ['ada', { binding: 'device', ttl: 86_400, scope: ['messages', 'tasks:read'], keepExisting: true }],
  ],
  ['credential revoke', revokeCredentialCommand, [id.toUpperCase()], [id, {}]],
  ['message', messageCommand, ['ada', 'hello'], ['ada', 'hello', { type: 'note' }]],
  ['message from standard input', messageCommand, ['ada'], ['ada', undefined, { type: 'note' }]],
  [
    'message with a question',
    messageCommand,
    [
      'ada',
      'well?',
      '--type',
      'question',
      '--reply-within',
      '10m',
      '--in-reply-to',
      id,
      '--key',
      'key-of-mine',
    ],
    ['ada', 'well?', { type: 'question', replyWithin: 600, inReplyTo: id, key: 'key-of-mine' }],
  ],
  ['history', historyCommand, ['ada'], ['ada', {}]],
  ['history backward', historyCommand, ['ada', '--before', '101'], ['ada', { before: 101 }]],
  ['ack of several messages', ackCommand, [id, other], [[id, other], {}]],
  ['ack of all printed messages', ackCommand, ['--all'], [[], { all: true }]],
  ['broadcast', broadcastCommand, ['stop', '--key', 'key-of-mine'], ['stop', { key: 'key-of-mine' }]],
  ['audit export', auditCommand, ['--export', 'csv'], [{ export: 'csv', limit: 50 }]],
  [
    'agent instructions of a known version',
    instructionsCommand,
    ['ada', '--file', '-', '--if-updated-at', '2026-11-21T04:00:00.120Z'],
    ['ada', { file: '-', ifUpdatedAt: '2026-11-21T04:00:00.120Z' }],
  ],
  [
    'the first agent instructions',
    instructionsCommand,
    ['ada', '--file', '-', '--if-updated-at', 'none'],
    ['ada', { file: '-', ifUpdatedAt: 'none' }],
  ],
]

test.each(accepted)('the program parses %s', async (_name, make, argv, expected) => {
  expect(await parsed(make, argv)).toEqual(expected)
})

const refused: readonly (readonly [string, Make, readonly string[]])[] = [
  ['setup without a name', setupCommand, []],
  ['setup with the token as an argument', setupCommand, ['--name', 'olu', 'TOKEN-TOKEN-TOKEN-TOKEN']],
  ['login with a password as an option', loginCommand, ['--password', 'secret']],
  ['login with a link and a name', loginCommand, ['--link', '--name', 'olu']],
  ['login with a link and a password', loginCommand, ['--link', '--password-stdin']],
  ['project create without a name', createProjectCommand, []],
  ['a budget of zero', createProjectCommand, ['demo', '--message-budget', '0']],
  ['a state that projects do not have', projectStateCommand, ['demo', 'frozen']],
  ['project delete without its name again', deleteProjectCommand, ['demo']],
  ['an administrator with a password', createAdministratorCommand, ['kim', '--password', 'secret']],
  ['an administrator without a project', unassign, ['kim']],
  ['a state that administrators do not have', administratorStateCommand, ['kim', 'away']],
  ['a missing new name', nameAgentCommand, ['ada']],
  ['a state that enrolments do not have', listEnrollmentsCommand, ['--state', 'lost']],
  ['an enrolment by the name of its agent', revokeEnrollmentCommand, ['ada']],
  ['a kind that environments do not have', createEnvironmentCommand, ['desk', '--kind', 'moon']],
  ['a state that agents do not have', agentStateCommand, ['ada', 'asleep']],
  ['a pairing of one agent', enable, ['ada']],
  ['a legacy enrolment', createEnrollmentCommand, ['ada', '--binding', 'legacy']],
  ['a scope that does not exist', createEnrollmentCommand, ['ada', '--scope', 'everything']],
  ['an invalid duration', createEnrollmentCommand, ['ada', '--ttl', 'soon']],
  ['a credential by its name', revokeCredentialCommand, ['ada']],
  ['a message type of the service', messageCommand, ['ada', 'x', '--type', 'task']],
  ['history in both directions', historyCommand, ['ada', '--after', '1', '--before', '9']],
  ['a sequence that is negative', historyCommand, ['ada', '--after=-1']],
  ['ack without an id', ackCommand, []],
  ['ack of an invalid id', ackCommand, ['latest']],
  ['ack of all messages and of one', ackCommand, ['--all', id]],
  ['broadcast to one agent', broadcastCommand, ['ada', 'stop']],
  ['broadcast with a key too long for its suffixes', broadcastCommand, ['stop', '--key', 'k'.repeat(92)]],
  ['audit export in another format', auditCommand, ['--export', 'xlsx']],
  ['audit export that follows', auditCommand, ['--export', 'csv', '--follow']],
  ['audit export of some', auditCommand, ['--export', 'csv', '--limit', '5']],
  ['a version without instructions', instructionsCommand, ['ada', '--if-updated-at', 'none']],
  ['a version that is no time', instructionsCommand, ['ada', '--file', '-', '--if-updated-at', 'today']],
]

test.each(refused)('the program refuses %s', async (_name, make, argv) => {
  await expect(parsed(make, argv)).rejects.toMatchObject({ code: expect.stringMatching(/^commander\./) })
})
