/** Two server processes on one PostgreSQL database, and people who talk to either of them. */
import { expect, vi } from 'vitest'
import { TestAgent } from './agent.ts'
import { TestOwner } from './owner.ts'
import { type People, settlePeople } from './people.ts'
import { type ProcessOptions, type ServerProcess, startServerProcess } from './process.ts'

export interface TwoNodes extends People {
  readonly first: ServerProcess
  readonly second: ServerProcess
  close(): Promise<void>
}

export interface TwoNodesOptions {
  /** By default the nodes take no packages, because they would need a shared store. */
  readonly settings?: ProcessOptions['settings']
  /** More variables of both nodes. */
  readonly environment?: Readonly<Record<string, string>>
  /** Settings of the second node, such as a way to the database through a proxy. */
  readonly second?: (first: ServerProcess) => Promise<ProcessOptions['settings']>
}

export async function startTwoNodes({
  settings,
  environment,
  second: given,
}: TwoNodesOptions = {}): Promise<TwoNodes> {
  const common = { settings: { package_bytes: '0', ...settings }, ...(environment && { environment }) }
  const first = await startServerProcess(common)
  const own = await given?.(first)
  const second = await startServerProcess({
    ...common,
    joins: first,
    settings: { ...common.settings, ...own },
  })
  const people = await settlePeople(first, { message_budget: 1_000_000 })
  return {
    ...people,
    first,
    second,
    async close() {
      await second.close()
      await first.close()
    },
  }
}

/** The same agent with the same session, which calls another node. */
export function agentAt(
  { url }: { readonly url: string },
  agent: TestAgent,
  clock = () => new Date(),
): TestAgent {
  const bound = {
    ...(agent.device && { device: agent.device }),
    ...(agent.secret && { secret: agent.secret }),
  }
  const there = new TestAgent(url, agent.keys, agent.enrolled, clock, bound)
  there.session = agent.session
  return there
}

/** The same sign-in, which calls another node. */
export const ownerAt = ({ url }: { readonly url: string }, owner: TestOwner): TestOwner =>
  new TestOwner(url, owner.cookie)

/**
 * Waits until readiness says how the node learns of commits of the others. The node tests whether
 * notifications arrive. If a busy machine delays one by a second, the node tests again later.
 */
export async function untilPeers({ url }: { readonly url: string }, mode: string): Promise<void> {
  const peers = async () => {
    const reply = await fetch(`${url}/api/ready`)
    return ((await reply.json()) as { peers?: string }).peers
  }
  await vi.waitFor(async () => expect(await peers()).toBe(mode), { timeout: 120_000, interval: 20 })
}
