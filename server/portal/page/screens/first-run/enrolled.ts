/** A new agent with its prompt, which holds a code that works once. */
import type { Agent } from '../../../../../sdk/browser.ts'
import type { Issued } from '../../parts/agent-prompt.tsx'

export interface Enrolled {
  readonly agent: Agent
  readonly issued: Issued
}
