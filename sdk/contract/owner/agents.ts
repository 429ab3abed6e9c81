/** Agents, as the owner manages them. Spec §2; contract §10. */
import { type Static, Type } from 'typebox'
import { RecipientKey } from '../agent/peers.ts'
import { RecipientKeyInput } from '../agent/recipient-keys.ts'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import { Connection } from '../presence.ts'
import {
  Change,
  IdParams,
  Name,
  NewName,
  Nullable,
  named,
  OrderedPageQuery,
  pageOf,
  ref,
  Strict,
  Text,
  Timestamp,
  Uuid,
} from '../primitives.ts'

export const AgentState = Type.Union([Type.Literal('enabled'), Type.Literal('disabled')])

/** Role in a request. The empty text means no role. */
const NewRole = Type.Union([NewName, Type.Literal('')])

export const AgentInput = named(
  'AgentInput',
  Strict({
    name: NewName,
    role_name: Type.Optional(NewRole),
    description: Type.Optional(Text(limits.descriptionBytes)),
    prompt_template: Type.Optional(Text(limits.promptBytes)),
    environment_id: Type.Optional(Uuid),
  }),
)
export type AgentInput = Static<typeof AgentInput>

export const Agent = named(
  'Agent',
  Type.Object({
    id: Uuid,
    project_id: Uuid,
    environment_id: Nullable(Uuid),
    name: Name,
    role_name: Type.String(),
    role: Type.String({ description: 'Legacy: the slug of role_name.' }),
    description: Type.String(),
    prompt_template: Type.String(),
    state: AgentState,
    recipient_key: Nullable(ref(RecipientKey)),
    connection: ref(Connection),
    created_at: Timestamp,
  }),
)
export type Agent = Static<typeof Agent>

export const AgentCreated = named('AgentCreated', Type.Object({ agent: ref(Agent) }))
export type AgentCreated = Static<typeof AgentCreated>
export const AgentList = named('AgentList', pageOf('agents', Agent))

export const AgentStateInput = named('AgentStateInput', Strict({ state: AgentState }))
export type AgentStateInput = Static<typeof AgentStateInput>

export const AgentNameInput = named('AgentNameInput', Strict({ name: NewName }))
export type AgentNameInput = Static<typeof AgentNameInput>

export const AgentNamed = named('AgentNamed', Type.Object({ id: Uuid, name: Name }))
export type AgentNamed = Static<typeof AgentNamed>

export const AgentProfileInput = named(
  'AgentProfileInput',
  Change({
    role_name: NewRole,
    description: Text(limits.descriptionBytes),
    prompt_template: Text(limits.promptBytes),
    environment_id: Type.Union([Uuid, Type.Null()], {
      description: 'Null if the agent belongs to no environment.',
    }),
  }),
)
export type AgentProfileInput = Static<typeof AgentProfileInput>

export const AgentInstructionInput = named(
  'AgentInstructionInput',
  Strict({
    instructions: Text(limits.promptBytes),
    if_updated_at: Type.Optional(
      Type.Union([Timestamp, Type.Null()], {
        description:
          'The updated_at that the caller read. If the instructions were saved since, the answer is state_conflict.',
      }),
    ),
  }),
)
export type AgentInstructionInput = Static<typeof AgentInstructionInput>

export const AgentInstructionPreview = named(
  'AgentInstructionPreview',
  Type.Object({
    instructions: Type.String({ description: 'Template, as saved.' }),
    rendered: Type.String({
      description: 'Text that the agent receives: the template with its name, role and prompt filled in.',
    }),
    updated_at: Nullable(Timestamp),
  }),
)
export type AgentInstructionPreview = Static<typeof AgentInstructionPreview>

export const AgentListQuery = Strict({ ...OrderedPageQuery.properties, state: Type.Optional(AgentState) })

/** Page of a list that can be limited to one agent. */
export const ByAgentQuery = Strict({ ...OrderedPageQuery.properties, agent_id: Type.Optional(Uuid) })

export const AgentParams = Strict({ id: Uuid, agent_id: Uuid })

export const agents = {
  create: endpoint({
    id: 'owner.agents.create',
    method: 'POST',
    path: '/api/admin/projects/{id}/agents',
    caller: 'owner',
    summary: 'Create an agent.',
    params: IdParams,
    body: AgentInput,
    response: AgentCreated,
    errors: ['not_found', 'name_taken'],
  }),
  list: endpoint({
    id: 'owner.agents.list',
    method: 'GET',
    path: '/api/admin/projects/{id}/agents',
    caller: 'owner',
    summary: 'List the agents of a project with their connection.',
    params: IdParams,
    query: AgentListQuery,
    response: AgentList,
    errors: ['not_found'],
  }),
  get: endpoint({
    id: 'owner.agents.get',
    method: 'GET',
    path: '/api/admin/projects/{id}/agents/{agent_id}',
    caller: 'owner',
    summary: 'Read one agent.',
    params: AgentParams,
    response: Agent,
    errors: ['not_found'],
  }),
  setState: endpoint({
    id: 'owner.agents.setState',
    method: 'POST',
    path: '/api/admin/projects/{id}/agents/{agent_id}/state',
    caller: 'owner',
    summary: 'Enable or disable an agent. Disabling fences its session immediately.',
    params: AgentParams,
    body: AgentStateInput,
    response: AgentStateInput,
    errors: ['not_found'],
  }),
  rename: endpoint({
    id: 'owner.agents.rename',
    method: 'POST',
    path: '/api/admin/projects/{id}/agents/{agent_id}/name',
    caller: 'owner',
    summary: 'Rename an agent. Its id, history and credentials stay.',
    params: AgentParams,
    body: AgentNameInput,
    response: AgentNamed,
    errors: ['not_found', 'name_taken'],
  }),
  change: endpoint({
    id: 'owner.agents.change',
    method: 'POST',
    path: '/api/admin/projects/{id}/agents/{agent_id}/profile',
    caller: 'owner',
    summary:
      'Change the role, the description, the prompt or the environment of an agent. Other fields stay.',
    params: AgentParams,
    body: AgentProfileInput,
    response: Agent,
    errors: ['not_found'],
  }),
  setInstructions: endpoint({
    id: 'owner.agents.setInstructions',
    method: 'POST',
    path: '/api/admin/projects/{id}/agents/{agent_id}/instructions',
    caller: 'owner',
    summary: 'Save the work instructions that the agent reads at its next bootstrap.',
    params: AgentParams,
    body: AgentInstructionInput,
    response: AgentInstructionPreview,
    errors: ['not_found', 'state_conflict'],
  }),
  instructions: endpoint({
    id: 'owner.agents.instructions',
    method: 'GET',
    path: '/api/admin/projects/{id}/agents/{agent_id}/instructions',
    caller: 'owner',
    summary: 'Preview the instructions that the agent would receive, without issuing an enrolment.',
    params: AgentParams,
    response: AgentInstructionPreview,
    errors: ['not_found'],
  }),
}

export const recipientKeys = {
  set: endpoint({
    id: 'owner.recipientKeys.set',
    method: 'POST',
    path: '/api/admin/projects/{id}/agents/{agent_id}/recipient-key',
    caller: 'owner',
    fresh: true,
    summary: "Set an agent's trusted age public key. The private key stays on the agent's machine.",
    params: AgentParams,
    body: RecipientKeyInput,
    response: RecipientKey,
    errors: ['not_found'],
  }),
}
