/** How an agent proves itself, in one word. */
import type { Credential } from '../../../../../sdk/browser.ts'

/** Returns whether a credential can be used at this time of the node. */
export const isLive = ({ revoked_at, expires_at }: Credential, nowMs: number): boolean =>
  revoked_at === null && (expires_at === null || Date.parse(expires_at) > nowMs)

/** Bindings of the live credentials of an agent, or `none`. */
export function bindingOf(credentials: readonly Credential[], agent: string, nowMs: number): string {
  const live = credentials.filter((each) => each.agent_id === agent && isLive(each, nowMs))
  return live.length === 0 ? 'none' : [...new Set(live.map(({ binding }) => binding))].join(', ')
}
