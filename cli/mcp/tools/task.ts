/** Tool for tasks: one action for each `task` command except `run`. */
import { relative } from 'node:path'
import { taskClaim } from '../../commands/task/claim.ts'
import { taskComplete } from '../../commands/task/complete.ts'
import { taskCreate } from '../../commands/task/create.ts'
import { giveUp } from '../../commands/task/give-up.ts'
import { taskList } from '../../commands/task/list.ts'
import { taskProgress } from '../../commands/task/progress.ts'
import { refuse } from '../../commands/task/refuse.ts'
import { taskRenew } from '../../commands/task/renew.ts'
import { taskShow } from '../../commands/task/show.ts'
import { taskStopped } from '../../commands/task/stopped.ts'
import { idempotencyKey, replyBy } from '../../messages/sending.ts'
import { evidenceOption, type GivenEvidence } from '../../tasks/evidence.ts'
import { taskStates } from '../../tasks/options.ts'
import { actionOver, runAction } from './actions.ts'
import { given } from './arguments.ts'
import { existingInside, type FilesFolder } from './folder.ts'
import { line, type Tool, tool } from './tool.ts'

const names = [
  ...(['list', 'show', 'create', 'claim', 'renew', 'progress', 'complete', 'fail', 'release'] as const),
  ...(['decline', 'cancel', 'stopped'] as const),
]
const text = { type: 'string' } as const

const properties = {
  action: { type: 'string', enum: names },
  id: { type: 'string', idOf: { name: 'task_id' } },
  role: { type: 'string', enum: ['assignee', 'creator'] },
  state: { type: 'string', oneOf: taskStates },
  limit: { type: 'integer', from: 1, to: 100 },
  peer: { type: 'string', idOf: { name: 'agent', orName: true } },
  title: text,
  text: { type: 'string', description: 'instructions, result, reason, note' },
  due: text,
  percent: { type: 'integer', from: 0, to: 100 },
  evidence: {
    type: 'array',
    most: 20,
    description: 'KIND:VALUE, like command:npm test, commit, file, url, text',
  },
  exit_code: { type: 'integer', from: 0, to: 255 },
  idempotency_key: text,
  line,
} as const

const action = actionOver<typeof properties>()
const keyOf = ({ idempotency_key: key }: { readonly idempotency_key?: string }) =>
  given({ key: key === undefined ? undefined : idempotencyKey(key) })

const actionsIn = (files: FilesFolder) => ({
  list: action([], ['role', 'state', 'limit'], (context, { limit = 20, ...filter }) =>
    taskList(context, { limit, ...filter }),
  ),
  show: action(['id'], [], (context, { id }) => taskShow(context, id)),
  create: action(
    ['peer', 'title', 'text'],
    ['due', 'idempotency_key'],
    (context, { peer, title, due, ...more }) =>
      taskCreate(context, peer, title, undefined, {
        ...keyOf(more),
        ...given({ due: due === undefined ? undefined : replyBy(due) }),
      }),
  ),
  claim: action(['id'], ['idempotency_key'], (context, { id, ...more }) =>
    taskClaim(context, id, keyOf(more)),
  ),
  renew: action(['id'], ['idempotency_key'], (context, { id, ...more }) =>
    taskRenew(context, id, keyOf(more)),
  ),
  progress: action(
    ['id'],
    ['text', 'percent', 'idempotency_key'],
    (context, { id, text: note, percent, ...more }) =>
      taskProgress(context, id, note, { ...keyOf(more), ...given({ percent }) }),
  ),
  complete: action(
    ['id', 'text', 'evidence'],
    ['exit_code', 'idempotency_key'],
    async (context, { id, evidence, exit_code: exitCode, ...more }) =>
      taskComplete(context, id, undefined, {
        ...keyOf(more),
        ...given({ exitCode }),
        evidence: await evidenceIn(files, evidence),
      }),
  ),
  fail: action(['id', 'text'], ['idempotency_key'], (context, { id, ...more }) =>
    giveUp(context, 'fail', { taskId: id, reason: undefined }, keyOf(more)),
  ),
  release: action(['id', 'text'], ['idempotency_key'], (context, { id, ...more }) =>
    giveUp(context, 'release', { taskId: id, reason: undefined }, keyOf(more)),
  ),
  decline: action(['id'], ['text', 'idempotency_key'], (context, { id, text: reason, ...more }) =>
    refuse(context, 'decline', id, { ...keyOf(more), ...given({ reason }) }),
  ),
  cancel: action(['id'], ['text', 'idempotency_key'], (context, { id, text: reason, ...more }) =>
    refuse(context, 'cancel', id, { ...keyOf(more), ...given({ reason }) }),
  ),
  stopped: action(['id'], ['idempotency_key'], (context, { id, ...more }) =>
    taskStopped(context, id, keyOf(more)),
  ),
})

/** Parses the items. A file is hashed here, so it must be one that the tools may read. */
async function evidenceIn(files: FilesFolder, items: readonly string[]): Promise<GivenEvidence[]> {
  const all: GivenEvidence[] = []
  for (const item of items) {
    const [found] = evidenceOption(item)
    if (found === undefined) continue
    const isFile = found.kind === 'file'
    all.push(isFile ? { ...found, value: relative('', await existingInside(files, found.value)) } : found)
  }
  return all
}

export function taskTool(files: FilesFolder): Tool {
  const actions = actionsIn(files)
  return tool({
    name: 'task',
    description:
      'Tasks: claim one for a time, then complete it with text and evidence. stopped: cancelled work has ended.',
    properties,
    required: ['action'],
    run: (context, values) => runAction(actions, context, values),
  })
}
