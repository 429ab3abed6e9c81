/** The tasks of the world, one for each state and way to end. */
import type { Evidence, Task } from '../../../sdk/contract/agent/tasks.ts'
import type { TestAgent } from '../../support/agent.ts'
import type { TestBridge } from '../../support/bridge.ts'
import { act, createTask, heldBy } from '../../support/tasks.ts'
import type { People } from './people.ts'

const titles = {
  open: 'Count the lines of the generated client',
  lost: 'Update the licences of all packages',
  held: 'Fix the flaky test of the event stream',
  stopping: 'Run the benchmark on the small machine',
  completed: 'Rename the table of offers',
  failed: 'Migrate the archive to the new format',
  exhausted: 'Reproduce the crash at start-up',
  declined: 'Translate the guide into Thai',
  cancelled: 'Write the announcement',
  byOwner: 'Prepare the release notes of 4.2, with each change that users notice, and its reason',
} as const

export type Work = Readonly<Record<keyof typeof titles, string>>

const hash = 'a3'.repeat(32)

const evidenceOf = (message: string): Evidence[] => [
  { kind: 'commit', value: '3f2a91c0d5b7e8f90123456789abcdef01234567', label: 'the rename' },
  { kind: 'command', value: 'npm test', exit_code: 0 },
  { kind: 'command', value: 'npm run bench', exit_code: 2, label: 'slower than before' },
  { kind: 'file', value: 'report.txt', sha256: hash },
  { kind: 'url', value: 'https://ci.example/builds/4711' },
  { kind: 'text', value: 'Counted by hand:\n12 tables before, 12 tables after.' },
  { kind: 'message', value: message },
]

export async function work(
  bridge: TestBridge,
  { agents: { ada, ben, thai, dan }, ids }: People,
  project: string,
  message: string,
): Promise<Work> {
  const { clock, owner } = bridge
  const made: Partial<Record<keyof typeof titles, string>> = {}
  const create = async (what: keyof typeof titles, by: TestAgent, to: TestAgent, fields: object = {}) => {
    clock.advance(23)
    const instructions = `${titles[what]}.\nReport each problem as a message.`
    const task = await createTask(by, to, { title: titles[what], instructions, ...fields })
    made[what] = task.id
    return task
  }
  const claim = async (by: TestAgent, { id }: Task, seconds = 3600) => {
    clock.advance(11)
    return act(by, id, 'claim', { claim_ttl_seconds: seconds })
  }
  const after = async (by: TestAgent, task: Task, verb: string, body: object = {}) => {
    clock.advance(17)
    return act(by, task.id, verb, { ...heldBy(task), ...body })
  }

  const lost = await claim(dan, await create('lost', ada, dan, { max_attempts: 3 }), 60)
  await after(dan, lost, 'progress', { note: 'Half of the packages are done.', percent: 50 })
  const tried = await claim(dan, await create('exhausted', ada, dan, { max_attempts: 1 }), 60)
  clock.advance(120)
  await dan.ok({ target: '/api/v1/tasks' })
  made.exhausted = tried.id

  const completed = await claim(ada, await create('completed', ben, ada))
  await after(ada, completed, 'progress', { note: 'The queries follow.', percent: 60 })
  const result = 'The table is renamed. All tests pass; the benchmark is 4 % slower.'
  await after(ada, completed, 'complete', { result, evidence: evidenceOf(message) })

  const failed = await claim(ben, await create('failed', ada, ben))
  await after(ben, failed, 'fail', { reason: 'The archive is encrypted, and nobody here has its key.' })
  const declined = await create('declined', ben, thai)
  await act(thai, declined.id, 'decline', { reason: 'The guide is not final yet.' })
  const cancelled = await claim(ben, await create('cancelled', ada, ben))
  await act(ada, cancelled.id, 'cancel', { reason: 'The release moves to Monday.' })
  await after(ben, cancelled, 'stopped')

  const held = await claim(ada, await create('held', ben, ada, { due_at: later(clock, 5400) }))
  await after(ada, held, 'progress', { note: 'It fails once in 40 runs.', percent: 40 })
  const stopping = await claim(ben, await create('stopping', ada, ben))
  clock.advance(5)
  await act(ada, stopping.id, 'cancel', { reason: 'The machine is needed.' })
  await create('open', ada, ben, { due_at: later(clock, 3600) })
  made.byOwner = (
    await owner.ok<{ id: string }>({
      target: `/api/admin/projects/${project}/tasks`,
      body: { assignee_agent_id: ids.long, title: titles.byOwner, instructions: 'Begin with the log.' },
      key: 'made-by-the-owner',
    })
  ).id
  return made as Work
}

const later = (clock: () => Date, seconds: number): string =>
  new Date(clock().getTime() + seconds * 1000).toISOString()
