/**
 * Effects that must happen once, requested at two server processes of one database at the same moment. Runs
 * with `BRIDGE_TEST_STORE=postgres`.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { enroll, type SignedCall, type TestAgent } from '../../support/agent.ts'
import { exchange, type Reply } from '../../support/http.ts'
import { agentAt, ownerAt, startTwoNodes, type TwoNodes } from '../../support/nodes.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { createTask } from '../../support/tasks.ts'

/** `ok`, or the code of the refusal. */
const outcome = ({ status, json }: Reply): string =>
  status === 200 ? 'ok' : (json as { error: string }).error

const tally = (outcomes: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...new Set(outcomes)].sort().map((each) => [each, outcomes.filter((other) => other === each).length]),
  )

describe.skipIf(!isOnPostgres)('two nodes on one database', () => {
  let nodes: TwoNodes
  let urls: readonly string[]
  let conversation: string
  beforeAll(async () => {
    nodes = await startTwoNodes()
    urls = [nodes.first.url, nodes.second.url]
    conversation = await nodes.ada.conversationWith(nodes.ben.id)
  })
  afterAll(() => nodes?.close())

  /** The agent at one node or the other. */
  const at = (index: number, agent: TestAgent) => agentAt(index % 2 === 0 ? nodes.first : nodes.second, agent)

  /** Sends the same signed bytes to both nodes. */
  const toBoth = (agent: TestAgent, call: SignedCall): Promise<Reply[]> => {
    const bytes = call.body === undefined ? '' : JSON.stringify(call.body)
    const headers = agent.sign(call, bytes)
    const method = call.body === undefined ? 'GET' : 'POST'
    const body = call.body === undefined ? undefined : bytes
    return Promise.all(urls.map((url) => exchange(url, { method, target: call.target, headers, body })))
  }

  test('accept a nonce once, of writes and of reads, 200 times', async () => {
    const found: string[] = []
    for (let round = 0; round < 200; round += 1) {
      const call =
        round % 2 === 0
          ? { target: '/api/v1/inbox' }
          : { target: '/api/v1/conversations', body: { recipient_agent_id: nodes.ben.id } }
      found.push((await toBoth(nodes.ada, call)).map(outcome).sort().join(' and '))
    }
    expect(tally(found)).toEqual({ 'ok and request_replayed': 200 })
    // A nonce that one node accepted earlier is refused by the other.
    const bytes = ''
    const headers = nodes.ada.sign({ target: '/api/v1/inbox' }, bytes)
    const later: string[] = []
    for (const url of urls)
      later.push(
        outcome(await exchange(url, { method: 'GET', target: '/api/v1/inbox', headers, body: undefined })),
      )
    expect(later).toEqual(['ok', 'request_replayed'])
  })

  test('accept one of 64 copies of a request that arrive at both at once', async () => {
    const call = { target: '/api/v1/conversations', body: { recipient_agent_id: nodes.ben.id } }
    const bytes = JSON.stringify(call.body)
    const headers = nodes.ada.sign(call, bytes)
    const copies = Array.from({ length: 64 }, (_, index) =>
      exchange(urls[index % 2] ?? '', { method: 'POST', target: call.target, headers, body: bytes }),
    )
    expect(tally((await Promise.all(copies)).map(outcome))).toEqual({ ok: 1, request_replayed: 63 })
  })

  test('give 64 requests with one key one effect', async () => {
    const key = randomUUID()
    const sends = Array.from({ length: 64 }, (_, index) =>
      at(index, nodes.ada).send(conversation, nodes.ben.id, 'once', key),
    )
    expect(new Set((await Promise.all(sends)).map(({ id }) => id)).size).toBe(1)
    const { messages } = await at(1, nodes.ben).inbox()
    expect(messages.map(({ body }) => body)).toEqual(['once'])
  })

  test('let one of 64 requests claim a task', async () => {
    const task = await createTask(nodes.ada, nodes.ben)
    const claims = Array.from({ length: 64 }, (_, index) =>
      at(index, nodes.ben).call({ target: `/api/v1/tasks/${task.id}/claim`, body: {} }),
    )
    const outcomes = tally((await Promise.all(claims)).map(outcome))
    expect(outcomes.ok).toBe(1)
    expect(Object.keys(outcomes)).toHaveLength(2)
  })

  test('let one of 16 requests use an enrolment code', async () => {
    const { owner, project } = nodes
    const { id } = await owner.createAgent(project.id, 'carl')
    const code = await owner.enrollmentCode(project.id, id)
    const enrolling = Array.from({ length: 16 }, (_, index) =>
      enroll(urls[index % 2] ?? '', code, () => new Date()).then(
        () => 'enrolled',
        () => 'refused',
      ),
    )
    expect(tally(await Promise.all(enrolling))).toEqual({ enrolled: 1, refused: 15 })
  })

  test('give 32 concurrent instances of an agent one active session', async () => {
    const { owner, project } = nodes
    const { id } = await owner.createAgent(project.id, 'dora')
    const dora = await enroll(urls[0] ?? '', await owner.enrollmentCode(project.id, id), () => new Date())
    const starts = Array.from({ length: 32 }, (_, index) => at(index, dora).requestSession(randomUUID()))
    const outcomes = tally((await Promise.all(starts)).map(outcome))
    expect(outcomes.ok).toBe(1)
    expect(Object.keys(outcomes)).toHaveLength(2)
  })

  test('accept the grant of a takeover once', async () => {
    const { owner, project, ada } = nodes
    const { grant } = await owner.takeover(project.id, ada.id, { reason: 'stuck' })
    const starts = Array.from({ length: 16 }, (_, index) =>
      at(index, ada).requestSession(randomUUID(), { takeover_grant: grant }),
    )
    expect(tally((await Promise.all(starts)).map(outcome)).ok).toBe(1)
  })

  test('serve any sign-in, and none after it has ended at the other', async () => {
    const there = ownerAt(nodes.second, nodes.owner)
    const target = '/api/admin/session'
    expect((await there.call({ target })).status).toBe(200)
    expect((await nodes.owner.call({ target })).status).toBe(200)
    expect((await there.call({ method: 'POST', target: '/api/admin/session/close', body: {} })).status).toBe(
      200,
    )
    expect(outcome(await nodes.owner.call({ target }))).toBe('owner_session_expired')
  })
})
