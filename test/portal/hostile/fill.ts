/** Writes the hostile texts into every field that an agent or a person may write. */
import type { Task } from '../../../sdk/contract/agent/tasks.ts'
import type { TestBridge } from '../../support/bridge.ts'
import { fileOf, offer } from '../../support/files.ts'
import { act, createTask, heldBy } from '../../support/tasks.ts'
import { hostileBodies, hostileLines, invisible } from './corpus.ts'

const bodies: readonly string[] = [...hostileLines, ...hostileBodies, ...invisible.map(([text]) => text)]

export interface Filled {
  readonly project: string
  readonly conversation: string
  /** Addresses of screens that show one thing. */
  readonly details: readonly string[]
}

/** A text in a field of one line, which takes `most` characters and no control character. */
const line = (index: number, most: number): string =>
  (hostileLines[index % hostileLines.length] ?? '').slice(0, most).trim()

export async function fill(bridge: TestBridge): Promise<Filled> {
  const { ada, ben, owner, clock } = bridge
  const project = bridge.project.id
  const at = `/projects/${project}`
  // Needs a recent sign-in, so it comes first.
  await owner.ok({ target: '/api/admin/administrators', body: { name: line(2, 80) } })
  const conversation = await ada.conversationWith(ben.id)
  for (const [index, text] of [...bodies, 'w'.repeat(60_000)].entries()) {
    await ada.send(conversation, ben.id, text)
    // The loop guard allows 60 messages in 10 minutes.
    if (index % 50 === 49) clock.advance(601)
  }
  await questions(bridge)
  const agents = await named(bridge)
  const tasks = await work(bridge)
  const transfers: string[] = []
  for (const filename of ['!(alert)(1)&lt;.sh', "';alert(1);'.md", '{{alert(1)}} =cmd.csv']) {
    const { id } = await offer({ from: ada, to: ben, bytes: fileOf(10), fields: { filename } })
    const reason = bodies[transfers.length + 1] ?? ''
    await ben.ok({ target: `/api/v1/transfers/${id}/decline`, body: { reason }, key: null })
    transfers.push(id)
  }
  const detailsOf = (kind: string, ids: readonly string[]) => ids.map((id) => `${at}/${kind}/${id}`)
  return {
    project,
    conversation,
    details: [
      ...detailsOf('agents', [ada.id, ...agents.slice(0, 1)]),
      ...detailsOf('conversations', [conversation, await ben.conversationWith(ben.id)]),
      ...detailsOf('tasks', tasks.slice(0, 3)),
      ...detailsOf('transfers', transfers.slice(0, 1)),
    ],
  }
}

async function questions({ ben }: TestBridge): Promise<void> {
  const conversation_id = await ben.conversationWith(ben.id)
  for (const body of bodies.slice(0, 4))
    await ben.ok({
      target: '/api/v1/messages',
      body: { conversation_id, recipient_agent_id: ben.id, type: 'question', body },
    })
}

/** Names and descriptions of agents, a project and an environment, and the client of a session. */
async function named({ owner, project, ben, clock }: TestBridge): Promise<string[]> {
  const ids: string[] = []
  const target = `/api/admin/projects/${project.id}`
  const body = { name: line(23, 80), kind: 'laptop', description: line(40, 500) }
  const environment = await owner.ok<{ id: string }>({ target: `${target}/environments`, body })
  for (let index = 0; index < 12; index += 1) {
    const fields = {
      role_name: line(index + 12, 80),
      description: bodies[index],
      prompt_template: bodies[index + 3],
      environment_id: environment.id,
    }
    ids.push((await owner.createAgent(project.id, line(index * 4, 80), fields)).id)
  }
  const instructions = bodies.slice(0, 20).join('\n')
  await owner.ok({ target: `${target}/agents/${ben.id}/instructions`, body: { instructions } })
  await owner.createProject(line(0, 80), { description: line(2, 500) })
  // Until then the session counts as active.
  clock.advance(120)
  await ben.startSession('11111111-1111-4111-8111-111111111111', {
    client: { name: line(2, 80), version: '<b>1' },
  })
  return ids
}

/** Tasks with hostile titles, instructions, notes, results, evidence and reasons. */
async function work({ ada, ben, clock }: TestBridge): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < 20; index += 1) {
    const instructions = bodies[(index * 3) % bodies.length] ?? ''
    const task = await createTask(ada, ben, { title: line(index * 3 + 1, 200), instructions })
    ids.push(task.id)
    const claim = async (): Promise<Task> => act(ben, task.id, 'claim', {})
    const [text = '', other = ''] = [bodies[index * 3 + 1], bodies[index * 3 + 2]]
    if (index % 4 === 0) {
      const held = heldBy(await claim())
      await act(ben, task.id, 'progress', { ...held, note: text, percent: 50 })
      const evidence = (['text', 'url', 'commit', 'file', 'command', 'message'] as const).map(
        (kind, each) => ({
          ...{ kind, value: bodies[index + each] ?? '', label: line(index + each, 200) },
        }),
      )
      await act(ben, task.id, 'complete', { ...held, result: other, evidence })
    } else if (index % 4 === 1) await act(ben, task.id, 'fail', { ...heldBy(await claim()), reason: text })
    else if (index % 4 === 2) await act(ben, task.id, 'decline', { reason: text })
    else await act(ada, task.id, 'cancel', { reason: other })
    clock.advance(1)
  }
  return ids
}
