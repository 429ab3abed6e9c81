/** Agents, as the owner manages them. Contract §10. */
import type { ResponseOf } from '../../contract/endpoint.ts'
import { limits } from '../../contract/limits.ts'
import {
  type Agent,
  type AgentCreated,
  type AgentInput,
  type AgentInstructionPreview,
  type AgentNamed,
  type AgentProfileInput,
  type AgentStateInput,
  agents as entries,
} from '../../contract/owner/agents.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type Ordered, type PageOptions } from '../call.ts'

export interface AgentFilter {
  readonly state?: Agent['state'] | undefined
}

export interface SaveInstructionsOptions extends CallOptions {
  /** The `updated_at` that was read, so that instructions which were saved since are not overwritten. */
  readonly ifUpdatedAt?: string | null | undefined
}

export class OwnerAgents {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Creates an agent without a credential. `owner.enrollments.create` issues an enrolment for one.
   *
   * @throws name_taken within the project; not_found for the project or the environment.
   */
  create(projectId: string, input: AgentInput, options: CallOptions = {}): Promise<AgentCreated> {
    return this.#call(entries.create, { params: { id: projectId }, body: input }, options)
  }

  /** One page of a project's agents with their connection. @throws not_found */
  list(
    projectId: string,
    { after, limit, order, state, ...options }: PageOptions & Ordered & AgentFilter & CallOptions = {},
  ): Promise<ResponseOf<typeof entries.list>> {
    const query = given({ after, limit, order, state })
    return this.#call(entries.list, { params: { id: projectId }, query }, options)
  }

  /** Every agent of a project, page after page. @throws not_found */
  all(
    projectId: string,
    options: AgentFilter & Ordered & CallOptions = {},
  ): AsyncGenerator<Agent, void, undefined> {
    const read = (after: string | undefined) =>
      this.list(projectId, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.agents)
  }

  /** @throws not_found */
  get(projectId: string, agentId: string, options: CallOptions = {}): Promise<Agent> {
    return this.#call(entries.get, { params: { id: projectId, agent_id: agentId } }, options)
  }

  /**
   * Enables or disables an agent. Disabling fences its session and ends its long-polls and streams
   * immediately.
   *
   * @throws not_found
   */
  setState(
    projectId: string,
    agentId: string,
    state: AgentStateInput['state'],
    options: CallOptions = {},
  ): Promise<AgentStateInput> {
    const params = { id: projectId, agent_id: agentId }
    return this.#call(entries.setState, { params, body: { state } }, options)
  }

  /** Renames an agent. Its id, history and credentials stay. @throws name_taken, not_found */
  rename(projectId: string, agentId: string, name: string, options: CallOptions = {}): Promise<AgentNamed> {
    return this.#call(
      entries.rename,
      { params: { id: projectId, agent_id: agentId }, body: { name } },
      options,
    )
  }

  /**
   * Changes the role, the description, the prompt or the environment, by id or name. Other fields stay. Returns
   * the whole agent.
   *
   * @throws not_found for the agent or the environment
   */
  change(
    projectId: string,
    agentId: string,
    change: AgentProfileInput,
    options: CallOptions = {},
  ): Promise<Agent> {
    const params = { id: projectId, agent_id: agentId }
    return this.#call(entries.change, { params, body: change }, options)
  }

  /** Reads the agent's instructions, as saved and as the agent receives them. @throws not_found */
  instructions(
    projectId: string,
    agentId: string,
    options: CallOptions = {},
  ): Promise<AgentInstructionPreview> {
    return this.#call(entries.instructions, { params: { id: projectId, agent_id: agentId } }, options)
  }

  /**
   * Saves the work instructions, which the agent reads at its next bootstrap.
   *
   * @throws state_conflict, with `updated_at` in its details, if they are newer than `ifUpdatedAt`; not_found
   */
  setInstructions(
    projectId: string,
    agentId: string,
    instructions: string,
    { ifUpdatedAt, ...options }: SaveInstructionsOptions = {},
  ): Promise<AgentInstructionPreview> {
    const params = { id: projectId, agent_id: agentId }
    const body = { instructions, ...given({ if_updated_at: ifUpdatedAt }) }
    return this.#call(entries.setInstructions, { params, body }, options)
  }
}
