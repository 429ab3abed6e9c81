/**
 * Scopes: calls every agent endpoint with every single scope. The expected results are written here by path,
 * from the text of the contract. The endpoints come from the contract, so a new one is tested too.
 *
 * Contract §3 "Scopes".
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes as nouns, type Scope } from '../../../sdk/contract/endpoint.ts'
import { type EndpointId, endpoints } from '../../../sdk/contract/index.ts'
import type { TestAgent } from '../../support/agent.ts'
import { messagesOf, openPolls } from '../../support/streams.ts'
import type { CaseOf } from '../endpoints/case.ts'
import { cases } from '../endpoints/cases.ts'
import { type Ready, send } from '../endpoints/send.ts'
import { startWorld, type World } from '../endpoints/world.ts'

let world: World
const holders = new Map<Scope, TestAgent>()
const all = nouns.flatMap((noun): Scope[] => [noun, `${noun}:read`])

beforeAll(async () => {
  world = await startWorld()
  for (const scope of all) holders.set(scope, await world.agent(undefined, { scopes: [scope] }))
})
afterAll(() => world.close())

/**
 * The rule of the contract for a path: the scopes of which one is required. An empty list means that any
 * scope is sufficient.
 */
const rules: readonly [RegExp, readonly string[]][] = [
  [/^\/api\/v1\/(bootstrap|guides|sessions|peers|connection-mode|inbox|events|acknowledgements)/, []],
  [/\/recipient-key$/, ['messages', 'transfers']],
  [/^\/api\/v1\/(conversations|messages)/, ['messages']],
  [/^\/api\/v1\/tasks/, ['tasks']],
  [/^\/api\/v1\/transfers/, ['transfers']],
]

function permitted(path: string, method: string, scope: Scope): boolean {
  const needed = rules.find(([rule]) => rule.test(path))?.[1]
  if (needed === undefined) throw new Error(`the text says nothing of ${path}`)
  const [noun = '', read] = scope.split(':')
  return needed.length === 0 || (needed.includes(noun) && (read === undefined || method === 'GET'))
}

const asked = endpoints.filter(
  ({ caller, stream }) => !stream && (caller === 'agent' || caller === 'agent-without-session'),
)

describe.each(asked.map((entry) => [entry.id, entry] as const))('%s', (id, entry) => {
  let ready: Ready
  beforeAll(async () => {
    ready = await (cases[id as EndpointId] as CaseOf<never>).success(world)
  })

  test.each(all)('with %s alone', async (scope) => {
    const by = holders.get(scope) as TestAgent
    const reply = await send(entry, { ...ready, by, query: ready.query?.replace('=20', '=0') ?? '' })
    const { error } = reply.json as { error?: string }
    if (permitted(entry.path, entry.method, scope)) expect(error).not.toBe('scope_missing')
    else expect([reply.status, error]).toEqual([403, 'scope_missing'])
    // A session that this request closed is started again for the next one.
    if (id === 'sessions.close') await by.startSession()
  })
})

test('a credential without the message scope is offered no messages, and they stay for one with the scope', async () => {
  const { project, owner } = world.bridge
  const reader = holders.get('messages:read') as TestAgent
  const worker = holders.get('tasks') as TestAgent
  for (const each of [reader, worker]) await owner.message(project.id, each.id, 'for your eyes')
  const stream = openPolls(worker)
  expect((await reader.inbox()).messages.map(({ body }) => body)).toEqual(['for your eyes'])
  await owner.message(project.id, worker.id, 'and again')
  expect(await worker.inbox()).toMatchObject({ messages: [], waiting: 2 })
  expect(stream.events.filter(({ type }) => type === 'messages').flatMap(messagesOf)).toEqual([])
  stream.close()
})
