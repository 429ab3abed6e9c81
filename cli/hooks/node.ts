/** Clients of a hook's profile. */
import type { Fetch } from '../../sdk/index.ts'
import type { ProfileRecord } from '../../sdk/profile/profile-files.ts'
import type { AgentReader } from '../../sdk/reader.ts'
import type { Agent } from '../context.ts'
import { loadKept } from '../startup/compile-cache.ts'
import { noCommand } from '../terminal/current-command.ts'
import type { HookContext } from './context.ts'

/** Client of a waiter, which listens. */
export async function openHookAgent(context: HookContext, profile: string): Promise<Agent> {
  const { home, clock, random } = context
  const { openAgent } = await import('../profile/agent.ts')
  const surroundings = {
    home,
    settings: { profile },
    current: noCommand,
    clock,
    random,
    output: { note: () => {} },
    address: undefined,
    fetch: fetchTrusting,
  }
  return openAgent(surroundings, { onKept: () => {} })
}

/** Client of all other hooks. It loads a small part of the SDK. */
export async function openHookReader(
  { home, clock, random }: HookContext,
  name: string,
): Promise<AgentReader> {
  const { clientOf, readAgent } = await import('../profile/stored-agent.ts')
  const stored = await readAgent(home, name)
  const sdk = await loadKept('reader', () => import('../../sdk/reader.ts'))
  return new sdk.AgentReader({
    ...clientOf(stored, sdk),
    fetch: await readerFetch(stored.profile),
    clock,
    random,
  })
}

/** With https, TLS itself takes most of the time, so another way to send would save little. */
const readerFetch = async ({ base_url, ca }: ProfileRecord): Promise<Fetch> =>
  base_url.startsWith('http:')
    ? (await import('./plain-fetch.ts')).plainFetch(() => fetchTrusting(ca))
    : fetchTrusting(ca)

const fetchTrusting = async (ca?: string) => (await import('../startup/http-fetch.ts')).httpFetch({ ca })
