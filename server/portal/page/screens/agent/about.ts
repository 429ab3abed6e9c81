/** Properties that each section of an agent's page gets. */
import type { Agent } from '../../../../../sdk/browser.ts'
import type { LiveProject } from '../../live/project.ts'

export interface About {
  readonly project: string
  readonly agent: Agent
  readonly live: LiveProject
}
