/** Cases of access: enrolments, credentials, takeovers, recipient keys. */
import type { EndpointId } from '../../../sdk/contract/index.ts'
import { otherRecipient, recipient } from './agent-cases.ts'
import { type Make, type SomeCases, unknownId } from './case.ts'
import { listed, listedNowhere, placed } from './owner-cases.ts'
import type { Ready } from './send.ts'
import type { World } from './world.ts'

/** Issues an enrolment that no agent has claimed yet. */
async function enrolling(world: World) {
  const { id, agent_id } = await placed(world)
  const { enrollment_id } = await world.owner.ok<{ enrollment_id: string }>({
    target: `/api/admin/projects/${id}/agents/${agent_id}/enrollment`,
    body: {},
  })
  return { id, agent_id, enrollment_id }
}

const unknownEnrollment =
  (body?: object): Make =>
  async (world) => ({
    by: world.owner,
    params: { id: await world.project(), enrollment_id: unknownId },
    ...(body !== undefined && { body }),
  })

/** Refusals for an agent that is deleted, disabled, or in an archived project. */
const agentIsThere = (body: object) => ({
  not_found: async (world: World): Promise<Ready> => ({
    by: world.owner,
    params: { ...(await placed(world)), agent_id: unknownId },
    body,
  }),
  project_archived: async (world: World): Promise<Ready> => {
    const params = await placed(world)
    await world.setProject(params.id, 'archived')
    return { by: world.owner, params, body }
  },
  agent_disabled: async (world: World): Promise<Ready> => {
    const params = await placed(world)
    await world.setAgent(params.id, params.agent_id, 'disabled')
    return { by: world.owner, params, body }
  },
})

export const accessCases: SomeCases<
  Extract<EndpointId, `owner.${'enrollments' | 'credentials' | 'takeovers' | 'recipientKeys'}.${string}`>
> = {
  'owner.enrollments.create': {
    success: async (world) => ({
      by: world.owner,
      params: await placed(world),
      body: {
        binding: 'device',
        ttl_seconds: 86_400,
        scopes: ['messages', 'tasks:read'],
        keep_existing: true,
      },
    }),
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { ...(await placed(world)), agent_id: unknownId },
        body: {},
      }),
      project_archived: async (world) => {
        const params = await placed(world)
        await world.setProject(params.id, 'archived')
        return { by: world.owner, params, body: {} }
      },
      agent_disabled: async (world) => {
        const params = await placed(world)
        await world.setAgent(params.id, params.agent_id, 'disabled')
        return { by: world.owner, params, body: {} }
      },
    },
  },
  'owner.enrollments.get': {
    success: async (world) => {
      const params = await placed(world)
      const { enrollment_id } = await world.owner.ok<{ enrollment_id: string }>({
        target: `/api/admin/projects/${params.id}/agents/${params.agent_id}/enrollment`,
        body: {},
      })
      return { by: world.owner, params: { ...params, enrollment_id } }
    },
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { ...(await placed(world)), enrollment_id: unknownId },
      }),
    },
  },

  'owner.enrollments.list': {
    success: async (world) => {
      const { id, agent_id } = await enrolling(world)
      return { by: world.owner, params: { id }, query: `?limit=1&state=pending&agent_id=${agent_id}` }
    },
    refusals: listedNowhere,
  },
  'owner.enrollments.read': {
    success: async (world) => {
      const { id, enrollment_id } = await enrolling(world)
      return { by: world.owner, params: { id, enrollment_id } }
    },
    refusals: { not_found: unknownEnrollment() },
  },
  'owner.enrollments.revoke': {
    success: async (world) => {
      const { id, enrollment_id } = await enrolling(world)
      return { by: world.owner, params: { id, enrollment_id }, body: {} }
    },
    refusals: {
      not_found: unknownEnrollment({}),
      state_conflict: async (world) => {
        const id = await world.project()
        await world.agent(id)
        const { enrollments } = await world.owner.ok<{ enrollments: { id: string }[] }>({
          target: `/api/admin/projects/${id}/enrollments`,
        })
        return { by: world.owner, params: { id, enrollment_id: enrollments[0]?.id ?? '' }, body: {} }
      },
    },
  },

  'owner.credentials.get': {
    success: async (world) => {
      const { project, ada } = await world.pair()
      const params = { id: project.id, credential_id: ada.enrolled.credential_id }
      return { by: world.owner, params }
    },
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { id: await world.project(), credential_id: unknownId },
      }),
    },
  },
  'owner.credentials.issue': {
    success: async (world) => {
      const { project, ada } = await world.pair()
      return {
        by: world.owner,
        params: { id: project.id, agent_id: ada.id },
        body: {
          kind: 'legacy',
          scopes: ['messages', 'tasks:read'],
          expires_at: '2030-01-01T00:00:00.000Z',
          replaces: ada.enrolled.credential_id,
        },
      }
    },
    refusals: agentIsThere({ kind: 'legacy' }),
  },
  'owner.credentials.list': { success: listed, refusals: listedNowhere },
  'owner.credentials.revoke': {
    success: async (world) => {
      const { project, ada } = await world.pair()
      const params = { id: project.id, credential_id: ada.enrolled.credential_id }
      return { by: world.owner, params, body: {} }
    },
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { id: await world.project(), credential_id: unknownId },
        body: {},
      }),
    },
  },

  'owner.takeovers.issue': {
    success: async (world) => {
      const { project, ada } = await world.pair()
      const params = { id: project.id, agent_id: ada.id }
      return { by: world.owner, params, body: { ttl_seconds: 60, reason: 'stuck' } }
    },
    refusals: agentIsThere({}),
  },
  'owner.recipientKeys.set': {
    success: async (world) => {
      const { project, ada } = await world.pair()
      await ada.ok({ target: '/api/v1/recipient-key', body: { recipient } })
      const params = { id: project.id, agent_id: ada.id }
      return { by: world.owner, params, body: { recipient: otherRecipient } }
    },
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { ...(await placed(world)), agent_id: unknownId },
        body: { recipient },
      }),
    },
  },
}
