/** Every way in which an agent loses the right to wait and to transfer bytes. Contract §3, §6. */
import type { ErrorCode } from '../../sdk/contract/errors.ts'
import { enroll, legacyAgent, type TestAgent } from '../support/agent.ts'
import type { TestBridge } from '../support/bridge.ts'

/** A separate project, and the agent in it that loses its right. */
interface Place {
  readonly project: { readonly id: string; readonly name: string }
  readonly lost: TestAgent
}

export interface Loss {
  readonly by: string
  /** The error code of every later request. */
  readonly reason: ErrorCode
  readonly happens: (bridge: TestBridge, place: Place) => Promise<unknown>
}

export const losses: readonly Loss[] = [
  {
    by: 'its credential is revoked',
    reason: 'credential_revoked',
    happens: (bridge, { project, lost }) => bridge.owner.revoke(project.id, lost.enrolled.credential_id),
  },
  {
    by: 'the agent is disabled',
    reason: 'agent_disabled',
    happens: (bridge, { project, lost }) => bridge.owner.setAgent(project.id, lost.id, 'disabled'),
  },
  {
    by: 'the owner takes the session over',
    reason: 'session_fenced',
    happens: (bridge, { project, lost }) => bridge.owner.takeover(project.id, lost.id),
  },
  {
    by: 'another instance replaces it',
    reason: 'session_fenced',
    happens: async (bridge, { project, lost }) => {
      const { credential, secret } = await bridge.owner.issueLegacy(project.id, lost.id)
      const enrolled = { ...lost.enrolled, credential_id: credential.id }
      await legacyAgent(bridge.url, enrolled, secret, bridge.clock).startSession()
    },
  },
  {
    by: 'it is enrolled again',
    reason: 'credential_revoked',
    happens: async (bridge, { project, lost }) => {
      await enroll(bridge.url, await bridge.owner.enrollmentCode(project.id, lost.id), bridge.clock)
    },
  },
  {
    by: 'it closes its session',
    reason: 'session_closed',
    happens: (_, { lost }) => lost.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null }),
  },
  {
    by: 'the project is archived',
    reason: 'project_archived',
    happens: (bridge, { project }) => bridge.owner.setProject(project.id, 'archived'),
  },
  {
    by: 'the project is deleted',
    reason: 'credential_unknown',
    happens: (bridge, { project }) => bridge.owner.deleteProject(project.id, project.name),
  },
]
