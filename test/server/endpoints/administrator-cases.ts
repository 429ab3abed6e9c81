/** Cases of the owner's actions on administrators. */
import { type SomeCases, unknownId } from './case.ts'
import type { World } from './world.ts'

interface Made {
  readonly administrator: { readonly id: string }
  readonly link: string
}

const made = (world: World): Promise<Made> =>
  world.owner.ok({ target: '/api/admin/administrators', body: { name: world.name('kim') } })

const one = async (world: World, body: unknown) => {
  const { administrator } = await made(world)
  return { by: world.owner, params: { id: administrator.id }, body }
}

const nobody = (body: unknown) => async (world: World) => ({
  by: world.owner,
  params: { id: unknownId },
  body,
})

export const administratorCases: SomeCases<
  | 'owner.administrators.list'
  | 'owner.administrators.create'
  | 'owner.administrators.link'
  | 'owner.administrators.assign'
  | 'owner.administrators.setState'
> = {
  'owner.administrators.list': {
    success: async (world) => {
      const { administrator } = await made(world)
      const body = { project_id: await world.project(), assigned: true }
      await world.owner.ok({ target: `/api/admin/administrators/${administrator.id}/assign`, body })
      return { by: world.owner, query: '?limit=100' }
    },
    refusals: {},
  },
  'owner.administrators.create': {
    success: async (world) => ({ by: world.owner, body: { name: world.name('kim'), ttl_seconds: 60 } }),
    refusals: {
      name_taken: async (world) => {
        const name = world.name('kim')
        await world.owner.ok({ target: '/api/admin/administrators', body: { name } })
        return { by: world.owner, body: { name } }
      },
    },
  },
  'owner.administrators.link': {
    success: (world) => one(world, { ttl_seconds: 86_400 }),
    refusals: {
      not_found: nobody({}),
      state_conflict: async (world) => {
        const ready = await one(world, {})
        const target = `/api/admin/administrators/${ready.params.id}/state`
        await world.owner.ok({ target, body: { state: 'disabled' } })
        return ready
      },
    },
  },
  'owner.administrators.assign': {
    success: async (world) => one(world, { project_id: await world.project(), assigned: true }),
    also: {
      'where nothing was assigned': async (world) =>
        one(world, { project_id: await world.project(), assigned: false }),
    },
    refusals: { not_found: (world) => one(world, { project_id: unknownId, assigned: true }) },
  },
  'owner.administrators.setState': {
    success: (world) => one(world, { state: 'disabled' }),
    refusals: { not_found: nobody({ state: 'enabled' }) },
  },
}
