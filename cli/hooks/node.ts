/** The Bridge of a hook's profile. */

import type { Agent } from '../context.ts'
import { noCommand } from '../terminal/current-command.ts'
import type { HookContext } from './context.ts'

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
    fetch: async () => (await import('../startup/http-fetch.ts')).httpFetch(),
  }
  return openAgent(surroundings, { onKept: () => {} })
}
