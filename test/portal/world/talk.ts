/** The conversations of the world: each kind of message that the page has to show. */
import type { TestAgent } from '../../support/agent.ts'
import type { TestBridge } from '../../support/bridge.ts'
import type { People } from './people.ts'

export interface Talk {
  /** Between ada and ben: code, a reply, addresses, invisible characters, a long text, a word of the owner. */
  readonly adaBen: string
  /** Between ada and the owner, with a question that waits for an answer. */
  readonly adaOwner: string
  /** Between the agents with Arabic and Thai names, with a sealed message. */
  readonly sealed: string
  /** Between dan and ada; the node has removed its first five messages. */
  readonly gap: string
  /** Between the agent with the longest name and ben; the loop guard stopped it. */
  readonly guarded: string
  /** The question of ada to the owner. */
  readonly question: string
}

/** A text of an age file, whose key does not exist. */
const sealedText = [
  '-----BEGIN AGE ENCRYPTED FILE-----',
  ...Array.from({ length: 6 }, (_, line) =>
    'YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBx'.padEnd(64, `${line}`),
  ),
  '-----END AGE ENCRYPTED FILE-----',
].join('\n')

const longText = Array.from(
  { length: 40 },
  (_, line) => `${line + 1}. The migration renames column ${line + 1} and keeps its index.`,
).join('\n')

export async function talk(bridge: TestBridge, { agents, ids }: People, project: string): Promise<Talk> {
  const { ada, ben, long, arabic, thai, dan } = agents
  const { clock, owner } = bridge
  const say = async (by: TestAgent, conversation_id: string, to: string, body: string, more: object = {}) => {
    clock.advance(41)
    const target = '/api/v1/messages'
    const fields = { conversation_id, recipient_agent_id: to, type: 'note', body, ...more }
    return (await by.ok<{ message: { id: string } }>({ target, body: fields })).message.id
  }
  const take = async (by: TestAgent) => {
    clock.advance(3)
    const { messages } = await by.inbox('?limit=100')
    clock.advance(2)
    await by.acknowledge(...messages.map(({ id }) => id))
  }

  const gap = await dan.conversationWith(ids.ada)
  for (let run = 1; run <= 8; run += 1) await say(dan, gap, ids.ada, `Benchmark run ${run}: ${180 + run} ms.`)
  await take(ada)

  const adaBen = await ada.conversationWith(ids.ben)
  const question = 'Which table holds the offers? I see \u200btwo.\n```\nselect * from offers\n```'
  const asked = await say(ben, adaBen, ids.ada, question, { type: 'question' })
  await take(ada)
  const reply = 'The one in https://docs.example/schema#offers; see also http://xn--bcher-kva.example/.'
  await say(ada, adaBen, ids.ben, reply, { type: 'answer', in_reply_to: asked })
  await take(ben)
  await say(ada, adaBen, ids.ben, longText, { type: 'result' })
  await owner.message(project, ids.ben, 'Please finish the review first.')
  await say(ben, adaBen, ids.ada, 'The review is finished. Two remarks are left.', { type: 'status' })
  await ada.inbox()
  await say(ben, adaBen, ids.ada, 'Merged.')

  const adaOwner = await ada.conversationWith(ids.ada)
  await say(ada, adaOwner, ids.ada, 'The branch is ready.')
  const waiting = await say(ada, adaOwner, ids.ada, 'The branch diverged. May I force-push "release-4.2"?', {
    type: 'question',
    expects_reply_by: new Date(clock().getTime() + 7_200_000).toISOString(),
  })

  const sealed = await arabic.conversationWith(ids.thai)
  const translated = 'الرسالة جاهزة للمراجعة، انظر src/app.ts (السطر ٤٢).'
  await say(arabic, sealed, ids.thai, translated)
  await say(arabic, sealed, ids.thai, sealedText, { encoding: 'age' })
  await say(thai, sealed, ids.arabic, 'ตรวจสอบแล้ว ไม่พบปัญหา')

  const guarded = await long.conversationWith(ids.ben)
  for (let turn = 0; ; turn += 1) {
    const [by, to] = turn % 2 === 0 ? [long, ids.ben] : [ben, ids.long]
    const body = { conversation_id: guarded, recipient_agent_id: to, type: 'note', body: `Turn ${turn}.` }
    const { status } = await by.call({ target: '/api/v1/messages', body })
    if (status !== 200) break
  }
  for (const by of [long, ben]) await take(by)
  return { adaBen, adaOwner, sealed, gap, guarded, question: waiting }
}
