/**
 * Generates docs/states.md: the states of each resource and the events that change them.
 *
 * Each cell of a table is the result of the function that the server calls for its decision.
 */
import { transferStates } from '../../sdk/contract/agent/transfers.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../../server/api-error.ts'
import { judgeClaim, stateOf } from '../../server/enrollments/rules.ts'
import { projectMoves } from '../../server/projects/rules.ts'
import { decideStart, requireReplacementRoom } from '../../server/sessions/rules.ts'
import { causes, taskEvents, transitions } from '../../server/tasks/rules.ts'
import {
  type Cell as TransferCell,
  transferEvents,
  transitions as transferTransitions,
} from '../../server/transfers/rules.ts'
import { endpointLink } from './api.ts'
import { connectionTable } from './connections.ts'
import { code, grid, page, table } from './markdown.ts'

const now = new Date('2026-01-01T00:00:00.000Z')
const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1000)

/** Returns the answer of a decision, or the code of its refusal. */
function outcome(decide: () => string): string {
  try {
    return decide()
  } catch (error) {
    if (error instanceof ApiError) return `refused: ${code(error.code)}`
    throw error
  }
}

export function statesPage(): string {
  return page('States', [
    'The states of each resource. The node refuses a change of state that no table shows.',
    '## Project',
    'A new project is `active`. A request for its present state succeeds and changes nothing.',
    projectTable(),
    `While a project is paused, its agents can still read, acknowledge and finish work, and write to the owner. The node refuses these requests with \`project_paused\`: ${pausedAt()}. Messages to the owner are excepted, and so is the conversation with the owner. A claim is refused even if the owner created the task. While a project is archived, the node refuses every agent request with \`project_archived\`.`,
    '## Agent',
    '`enabled` ↔ `disabled`, by the owner. Disabling an agent fences its session and ends its waits immediately. After it is enabled again, the agent starts a new session.',
    '## Enrolment',
    '`pending` → `claimed`, `expired` or `revoked`. The status of an enrolment shows:',
    enrollmentStates(),
    'The node answers a claim with a valid proof of possession as this table shows. A refusal changes nothing, except that the audit records a second use.',
    claimTable(),
    '## Session',
    '`active` → `closed` (by the agent) or `fenced` (replaced, agent disabled, credential revoked). Both are final. An agent has at most one active session. Each new session has a `generation` one higher than the last, and the number never falls.',
    startTable(),
    `An active session is alive while it has an open wait or an unexpired claim, and for ${limits.sessionAliveSeconds} seconds after its last contact. Within ${limits.sessionReplacementWindowSeconds / 60} minutes ${replacementWords()}`,
    '## Message',
    messageTable(),
    'An acknowledged message is never offered again. There is no state "read" or "delivered", because the node cannot know either.',
    '## Task',
    'A new task is `open`. Each cell is the next state, or the refusal. `—` marks a state without a claim that could expire. Before it uses the table, the node refuses a request of a holder with `claim_lost` in two cases. Either its claim generation or session generation is not that of the last claim, or that claim has expired or was released.',
    taskTable(),
    `${taskCauses()} The node's clock causes \`expire\`. Any session of the assignee may report that the work of a \`cancelled\` task has stopped, if it names the last claim generation.`,
    'A holder may end a task in `cancel_requested` with a result or a failure, because the work did end that way.',
    '## Transfer',
    'A new transfer is `offered`. Each cell is the next state or the refusal. `same` means that it has happened before and nothing changes, `noted` that the node records which side reported it, and `—` that time does not end the state.',
    transferTable(),
    "The recipient causes `accept`, `decline` and `receipt`. Either side causes `fail`, `cancel` and `cleanup`, and the owner can cause `cancel`, too. The node's clock causes `expire`. The node refuses a receipt that does not match the offer with `receipt_mismatch`, and in package mode a receipt before the upload is finalized with `state_conflict`.",
    '## Connection',
    'The `connection` of an agent at the moment of the request.',
    connectionTable(),
    'While `listening_now` is true, `next_contact.kind` is `listening`. Otherwise it follows the schedule of the active session: `scheduled`, `after_current_work_step`, or `unknown` without one.',
    '## Pairing',
    '`enabled` ↔ `disabled`, by the owner. When an agent starts a session, the node pairs it with every enabled agent of its project. A pairing that the owner disabled stays disabled. While a pairing is disabled, the two agents cannot send, and cannot read or list their conversation. The node withholds messages that it had not offered until the pairing is enabled again.',
  ])
}

function projectTable(): string {
  const states = Object.keys(projectMoves) as (keyof typeof projectMoves)[]
  const rows = states.map((from) => [
    code(from),
    ...states.map((to) => (projectMoves[from][to] ? 'yes' : 'refused: `state_conflict`')),
  ])
  return grid(['from \\ to', ...states.map(code)], rows)
}

const pausedAt = (): string =>
  endpoints
    .filter(({ errors }) => (errors as readonly string[]).includes('project_paused'))
    .map((entry) => endpointLink(entry, 'api.md'))
    .join(', ')

const expiries = [
  ['before', ago(-60)],
  ['after', ago(60)],
] as const

function enrollmentStates(): string {
  const rows = (['pending', 'claimed', 'revoked'] as const).flatMap((state) =>
    expiries.map(([when, expires]) => [
      code(state),
      when,
      code(stateOf({ state, expires_at: expires.toISOString() }, now)),
    ]),
  )
  return grid(['stored', 'asked … its expiry', 'shown'], rows)
}

function claimTable(): string {
  const rows = (['pending', 'claimed', 'revoked'] as const).flatMap((state) =>
    expiries.flatMap(([when, expires]) => {
      const stored = { state, expires_at: expires.toISOString() }
      const judged = state === 'claimed' ? judgeSecond(stored) : judgeFirst(stored)
      return judged.map(([words, answer]) => [code(state), when, words, answer])
    }),
  )
  return table(['stored', 'claimed … its expiry', 'claim', 'answer'], merged(rows))
}

type Stored = Pick<Parameters<typeof judgeClaim>[0], 'state' | 'expires_at'>

/** Answers to the first claim of a code, with and without a device. */
function judgeFirst(stored: Stored): [words: string, answer: string][] {
  const judge = (binding: 'key' | 'device', device: string | undefined) =>
    claimWords(judgeClaim({ ...stored, binding }, undefined, { public_key: 'K1', device }, now))
  return [
    ['key-bound, no device named', judge('key', undefined)],
    ['key-bound, a device named', judge('key', 'D1')],
    ['device-bound, a device named', judge('device', 'D1')],
    ['device-bound, no device named', judge('device', undefined)],
  ]
}

/** Answers to a second claim of a code, compared with the key and the device of the first. */
function judgeSecond(stored: Stored): [words: string, answer: string][] {
  const judge = (public_key: string, device: string) => {
    const first = { public_key: 'K1', device: 'D1' }
    return claimWords(judgeClaim({ ...stored, binding: 'device' }, first, { public_key, device }, now))
  }
  return [
    ['the same key and device', judge('K1', 'D1')],
    ['the same key, another device', judge('K1', 'D2')],
    ['another key', judge('K2', 'D1')],
  ]
}

const claimWords = (judged: string): string => {
  if (judged === 'claim') return 'claimed: the key becomes a credential'
  if (judged === 'repeat') return 'the same credential again'
  return `refused: ${code(judged)}`
}

/** Merges rows that differ only in the cell before the last. The merged row has `any` there. */
function merged(rows: readonly string[][]): string[][] {
  const groups = Map.groupBy(rows, (row) => row.slice(0, -2).join('|'))
  return [...groups.values()].flatMap((group) => {
    const [first = []] = group
    if (new Set(group.map((row) => row.at(-1))).size > 1) return group
    return [[...first.slice(0, -2), 'any', first.at(-1) ?? '']]
  })
}

const bindingWords = { key: 'key- or device-bound', legacy: 'legacy' } as const

function startTable(): string {
  const active = {
    id: 'S',
    credential_id: 'C1',
    instance_id: 'I1',
    client_name: 'client',
    last_contact_at: now.toISOString(),
  }
  const unscheduled = { isOccupied: false, holdsClaim: false, mode: null, intervalSeconds: null }
  const silentFor = (seconds: number) => ({ silentMs: seconds * 1000, last_contact_at: '', ...unscheduled })
  const lately = silentFor(limits.sessionAliveSeconds - 1)
  const longAgo = silentFor(limits.sessionAliveSeconds)
  const occupied = { ...longAgo, isOccupied: true }
  const holding = { ...longAgo, holdsClaim: true }
  const scheduled = { ...longAgo, mode: 'short_poll' as const, intervalSeconds: 60 }
  const standings = [
    ['None', undefined, longAgo],
    [`Alive by contact ${limits.sessionAliveSeconds - 1} seconds ago`, active, lately],
    ['Alive by an open wait, upload or download', active, occupied],
    ['Alive by a claim that it holds', active, holding],
    ['Alive by a declared schedule that has not run out twice', active, scheduled],
    [`Not alive, contact ${limits.sessionAliveSeconds} seconds ago, nothing open`, active, longAgo],
  ] as const
  const newcomers = [
    ['the same instance and credential', 'C1', 'I1'],
    ['another instance', 'C1', 'I2'],
    ['the same instance, another credential', 'C2', 'I1'],
  ] as const
  const rows = standings.flatMap(([standing, stored, liveness]) =>
    newcomers.flatMap(([words, credential_id, instance_id]) =>
      (['key', 'legacy'] as const).map((binding) => {
        const newcomer = { credential_id, instance_id, binding }
        const start = outcome(() => decideStart(stored, newcomer, liveness))
        return [standing, bindingWords[binding], words, startWords[start] ?? start]
      }),
    ),
  )
  return table(['active session', 'credential', 'who starts', 'answer'], merged(rows))
}

const startWords: Readonly<Record<string, string>> = {
  fresh: 'new session',
  resume: 'resumes with the same id and generation',
  replace: 'new session, and the old one is fenced',
}

function replacementWords(): string {
  const now = new Date()
  const times = (count: number) => Array.from({ length: count }, () => now.toISOString())
  const answer = (recent: number) => outcome(() => String(requireReplacementRoom(times(recent), now)))
  const allowed = [0, 1, 2, 3, 4, 5].find((recent) => answer(recent).startsWith('refused'))
  if (allowed === undefined) throw new Error('no number of replacements is refused')
  return `${allowed} replacements succeed, the next is ${answer(allowed)}.`
}

export function transferTable(): string {
  const rows = transferEvents.map((event) => [
    code(event),
    ...transferStates.map((state) => transferCell(transferTransitions[state][event])),
  ])
  return grid(['', ...transferStates.map(code)], rows)
}

function transferCell(cell: TransferCell): string {
  if ('next' in cell) return code(cell.next)
  if ('refused' in cell) return code(cell.refused)
  if ('never' in cell) return '—'
  return 'same' in cell ? 'same' : 'noted'
}

export function taskTable(): string {
  const states = Object.keys(transitions) as (keyof typeof transitions)[]
  const rows = taskEvents.map((event) => [
    code(event),
    ...states.map((state) => {
      const cell = transitions[state][event]
      if ('never' in cell) return '—'
      if ('refused' in cell) return `refused: ${code(cell.refused)}`
      return 'exhausted' in cell
        ? `${code(cell.next)}; ${code(cell.exhausted)} when attempts are used up`
        : code(cell.next)
    }),
  ])
  return grid(['event \\ state', ...states.map(code)], rows)
}

function taskCauses(): string {
  const words = {
    assignee: 'The assignee',
    holder: 'The assignee that holds the claim',
    creator: 'The creator or the owner',
    clock: '',
  }
  const by = Map.groupBy(
    taskEvents.filter((event) => causes[event] !== 'clock'),
    (event) => causes[event],
  )
  return [...by].map(([cause, events]) => `${words[cause]} causes ${events.map(code).join(', ')}.`).join(' ')
}

const messageTable = (): string =>
  table(
    ['word', 'field', 'meaning'],
    [
      [
        'Stored',
        '`delivery.stored_at`',
        'Committed to disk. This is what the `200` to a send means, and no more.',
      ],
      [
        'Offered',
        '`delivery.first_offered_at`, `delivery.offers`',
        'The bytes of the message were handed to a connection of the recipient. It says nothing about a model having read it.',
      ],
      [
        'Acknowledged',
        '`delivery.acknowledged_at`',
        'The recipient said that it recorded the message durably. It also counts as an offer when none was recorded.',
      ],
    ],
  )
