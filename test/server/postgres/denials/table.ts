/** Everything that an owner denies, by one request at the first of two nodes. Contract §3, §6, §10. */
import { randomUUID } from 'node:crypto'
import { enroll, legacyAgent } from '../../../support/agent.ts'
import type { TwoNodes } from '../../../support/nodes.ts'
import { type Actor, type AgentScene, agentScene, type PersonScene, personScene } from './scenes.ts'

export interface Denial<S extends Actor = Actor> {
  readonly name: string
  /** Code of the refusal of every later request. */
  readonly code: string
  /** Whether an open wait ends with this code. */
  readonly ends: boolean
  scene(nodes: TwoNodes): Promise<S>
  deny(nodes: TwoNodes, scene: S): Promise<unknown>
  /** Takes the denial back. Without it, the next round needs a new scene. */
  undo?(nodes: TwoNodes, scene: S): Promise<unknown>
}

const agent = (
  name: string,
  code: string,
  deny: Denial<AgentScene>['deny'],
  more: Partial<Denial<AgentScene>> = {},
): Denial => ({ name, code, ends: true, scene: agentScene, deny, ...more }) as Denial

const person = (name: string, code: string, deny: Denial<PersonScene>['deny']): Denial =>
  ({ name, code, ends: true, scene: personScene, deny }) as Denial

const session = '/api/admin/session'

export const denials: readonly Denial[] = [
  agent(
    'an agent is disabled',
    'agent_disabled',
    ({ owner }, { project, ben }) => owner.setAgent(project.id, ben.id, 'disabled'),
    {
      async undo({ owner }, { project, ben }) {
        await owner.setAgent(project.id, ben.id, 'enabled')
        await ben.startSession(randomUUID())
      },
    },
  ),
  agent('a credential is revoked', 'credential_revoked', ({ owner }, { project, ben }) =>
    owner.revoke(project.id, ben.enrolled.credential_id),
  ),
  agent('an agent is enrolled again', 'credential_revoked', async ({ owner, first }, { project, ben }) =>
    enroll(first.url, await owner.enrollmentCode(project.id, ben.id), () => new Date()),
  ),
  agent(
    'a session is taken over',
    'session_fenced',
    async ({ owner }, { project, ben }) => owner.takeover(project.id, ben.id),
    {
      async undo({ owner }, { project, ben }) {
        const { grant } = await owner.takeover(project.id, ben.id)
        await ben.startSession(randomUUID(), { takeover_grant: grant })
      },
    },
  ),
  agent(
    'another instance replaces a session',
    'session_fenced',
    async ({ owner, first }, { project, ben }) => {
      const { credential, secret } = await owner.issueLegacy(project.id, ben.id)
      const enrolled = { ...ben.enrolled, credential_id: credential.id }
      return legacyAgent(first.url, enrolled, secret, () => new Date()).startSession()
    },
  ),
  agent(
    'a project is paused',
    'project_paused',
    ({ owner }, { project }) => owner.setProject(project.id, 'paused'),
    { ends: false, undo: ({ owner }, { project }) => owner.setProject(project.id, 'active') },
  ),
  agent(
    'a pairing is ended',
    'pairing_disabled',
    ({ owner }, { project, ada, ben }) => owner.setPairing(project.id, [ada.id, ben.id], false),
    {
      ends: false,
      undo: ({ owner }, { project, ada, ben }) => owner.setPairing(project.id, [ada.id, ben.id], true),
    },
  ),
  agent('a project is archived', 'project_archived', ({ owner }, { project }) =>
    owner.setProject(project.id, 'archived'),
  ),
  agent('a project is deleted', 'credential_unknown', ({ owner }, { project }) =>
    owner.deleteProject(project.id, project.name),
  ),
  person('a person signs out', 'owner_session_expired', (_, { by }) =>
    by.ok({ target: `${session}/close`, body: {} }),
  ),
  person('a sign-in is revoked', 'owner_session_expired', async (_, { by }) => {
    const { id } = await by.ok<{ id: string }>({ target: session })
    return by.ok({ target: `/api/admin/sessions/${id}/revoke`, body: {} })
  }),
  person('a password is changed', 'owner_session_expired', (_, { by }) =>
    by.ok({ target: `${session}/password`, body: { new_password: `a password ${randomUUID()}` } }),
  ),
  person('an administrator is disabled', 'owner_session_expired', ({ owner }, { id }) =>
    owner.ok({ target: `/api/admin/administrators/${id}/state`, body: { state: 'disabled' } }),
  ),
  person('a project is taken from an administrator', 'not_found', ({ owner }, { id, project }) =>
    owner.ok({
      target: `/api/admin/administrators/${id}/assign`,
      body: { project_id: project.id, assigned: false },
    }),
  ),
]
