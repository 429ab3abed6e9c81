/** Cases of the owner's views of past events: the audit log and live events. */
import type { EndpointId } from '../../../sdk/contract/index.ts'
import { tamper } from '../../support/tamper.ts'
import { type SomeCases, unknownId } from './case.ts'
import type { Ready } from './send.ts'
import type { World } from './world.ts'

const hostSample = {
  ...{ host: 'desk.example', sampled_at: '2026-01-01T00:00:00.000Z', cpu_percent: 12.5 },
  ...{ memory_used_bytes: 1024, memory_total_bytes: 2048 },
}

/** A request of a host that holds this token. */
const reporting = (world: World, token: string): Ready => ({
  by: world.bridge,
  body: hostSample,
  extra: [['Authorization', `Bearer ${token}`]],
})

/** Returns the latest record of a fresh project. */
async function recorded(world: World) {
  const id = await world.project()
  const { audit } = await world.owner.ok<{ audit: { id: string; at: string }[] }>({
    target: `/api/admin/projects/${id}/audit`,
  })
  return { id, record_id: audit.at(-1)?.id ?? '', at: audit.at(-1)?.at ?? '' }
}

export const upkeepCases: SomeCases<
  Extract<EndpointId, `owner.${'audit' | 'snapshots' | 'telemetry'}.${string}` | 'telemetry.report'>
> = {
  'telemetry.report': {
    success: async (world) => reporting(world, await world.telemetryToken()),
    refusals: {
      capacity_reached: async (world) => {
        const other = await world.elsewhere()
        const ready = reporting(other, await other.telemetryToken())
        tamper(other.bridge.data, (database) =>
          database.exec(`WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
            INSERT INTO telemetry_hosts SELECT 'h' || i, '2026-01-01T00:00:00.000Z', 1, 1, 2, '2026-01-01T00:00:00.000Z' FROM n`),
        )
        return ready
      },
    },
  },
  'owner.telemetry.list': { success: async (world) => ({ by: world.owner }), refusals: {} },
  'owner.telemetry.history': {
    success: async (world) => {
      const { hosts } = await world.owner.ok<{ hosts: { host: string }[] }>({
        target: '/api/admin/telemetry',
      })
      return { by: world.owner, query: `?host=${hosts[0]?.host}&minutes=60` }
    },
    refusals: { not_found: async (world) => ({ by: world.owner, query: '?host=never-heard-of' }) },
  },
  'owner.snapshots.get': {
    success: async (world) => ({ by: world.owner, params: { id: (await world.pair()).project.id } }),
    refusals: { not_found: async (world) => ({ by: world.owner, params: { id: unknownId } }) },
  },
  'owner.audit.list': {
    success: async (world) => {
      const { project, ada } = await world.pair()
      const filters = `kind=session.started&actor_id=${ada.id}&subject_id=${ada.session?.id}`
      const times = 'since=2020-01-01T00:00:00.000Z&until=2040-01-01T00:00:00.000Z'
      return {
        by: world.owner,
        params: { id: project.id },
        query: `?${filters}&${times}&order=newest_first&limit=1`,
      }
    },
    refusals: { not_found: async (world) => ({ by: world.owner, params: { id: unknownId } }) },
  },
  'owner.audit.get': {
    success: async (world) => {
      const { id, record_id } = await recorded(world)
      return { by: world.owner, params: { id, record_id } }
    },
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { id: await world.project(), record_id: unknownId },
      }),
    },
  },
  'owner.audit.node': { success: async (world) => ({ by: world.owner, query: '?limit=1' }), refusals: {} },
  'owner.audit.events': {
    success: async (world) => ({
      by: world.owner,
      params: { id: await world.project() },
      query: '?limit=5&wait_seconds=0',
    }),
    refusals: {
      not_found: async (world) => ({ by: world.owner, params: { id: unknownId } }),
      wait_limit: async (world) => {
        const { id, record_id } = await recorded(world)
        const by = await world.signedIn()
        const target = `/api/admin/projects/${id}/events`
        // The node may count them in another order than that of their sending. One of the eleven is refused.
        const waits = Array.from({ length: 11 }, () =>
          by.call({ target: `${target}?after=${record_id}&wait_seconds=20` }),
        )
        const refused = await Promise.race(waits)
        await world.setProject(id, 'paused')
        await Promise.all(waits)
        return refused
      },
    },
  },
}
