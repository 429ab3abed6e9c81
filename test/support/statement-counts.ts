/** How many statements reach PostgreSQL for a request in a full group. */
import type { TestAgent } from './agent.ts'
import { type Counted, type CountedOptions, openCounted } from './counted.ts'

/** Requests of a full group. */
export const atOnce = 32

/** Opens a server and closes it after the act. */
export async function onServer<T>(options: CountedOptions, act: (world: Counted) => Promise<T>): Promise<T> {
  const world = await openCounted(options)
  try {
    return await act(world)
  } finally {
    await world.close()
  }
}

/** Returns the number of statements for each request of a full group, and the answers. */
export async function counted<T>(world: Counted, requests: readonly (() => Promise<T>)[]) {
  const before = world.executed()
  const answers = await world.inOneGroup(requests)
  return { each: (world.executed() - before) / requests.length, answers }
}

/** Returns the number of statements for each of the sends, in a full group. */
export async function sendsEach(world: Counted, sends: readonly (() => Promise<unknown>)[]): Promise<number> {
  // The first groups tell the node the types of the parameters.
  for (let round = 0; round < 2; round += 1) await Promise.all(sends.map((send) => send()))
  return (await counted(world, sends)).each
}

/** Agents whose sends go to as many inboxes. */
export const pairs = { agents: 2 * atOnce, senders: atOnce }

/** Sends of agents in pairs. */
export const spread = ({ people, conversations }: Counted) =>
  people.slice(0, atOnce).map((sender, index) => () => {
    const recipient = people[atOnce + index] as TestAgent
    return sender.send(conversations[atOnce + index] ?? '', recipient.id, 'hello')
  })

/** Sends of many agents to the first one. */
export const toOne = ({ people: [recipient, ...senders], conversations }: Counted) =>
  senders.map(
    (sender, index) => () => sender.send(conversations[index + 1] ?? '', recipient?.id ?? '', 'hello'),
  )
