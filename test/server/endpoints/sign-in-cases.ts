/** Cases of the set-up of an owner, sign-in, sessions and sign-out. */
import { contract } from '../../../sdk/contract/index.ts'
import { ownerName, ownerPassword } from '../../support/owner.ts'
import { prolongDelays } from '../../support/sign-in-delays.ts'
import { type SomeCases, unknownId } from './case.ts'
import { send } from './send.ts'

const wrong = 'wrong horse battery staple'
const unknownToken = 'AAAAAAAAAAAAAAAAAAAAAAAA'
/** From the fifth wrong password in a row, the node delays attempts for that name. */
const freeAttempts = 4

export const signInCases: SomeCases<
  | 'owner.signIn.setup'
  | 'owner.signIn.start'
  | 'owner.signIn.current'
  | 'owner.signIn.close'
  | 'owner.signIn.confirm'
  | 'owner.signIn.password'
  | 'owner.signIn.list'
  | 'owner.signIn.revoke'
> = {
  'owner.signIn.setup': {
    success: async (world) => {
      const { url, token } = await world.ownerless()
      return { by: { url }, body: { token, name: ownerName, password: ownerPassword } }
    },
    refusals: {
      sign_in_failed: async (world) => {
        const { url } = await world.ownerless()
        return { by: { url }, body: { token: unknownToken, name: ownerName, password: ownerPassword } }
      },
      setup_done: async (world) => ({
        by: world.bridge,
        body: { token: unknownToken, name: ownerName, password: ownerPassword },
      }),
    },
  },

  'owner.signIn.start': {
    success: async (world) => ({ by: world.bridge, body: { name: ownerName, password: ownerPassword } }),
    also: {
      'by a link from the host': async (world) => ({
        by: world.bridge,
        body: { link_token: await world.linkToken() },
      }),
    },
    refusals: {
      sign_in_failed: async (world) => ({ by: world.bridge, body: { name: ownerName, password: wrong } }),
    },
  },

  'owner.signIn.current': { success: async (world) => ({ by: world.owner }), refusals: {} },

  'owner.signIn.close': {
    success: async (world) => ({ by: await world.signedIn(), body: {} }),
    refusals: {},
  },

  'owner.signIn.confirm': {
    success: async (world) => ({ by: world.owner, body: { password: ownerPassword } }),
    refusals: {
      sign_in_failed: async (world) => ({ by: world.owner, body: { password: wrong } }),
      rate_limited: async (world) => {
        // The first delay is one second, which a busy machine may need for the next request.
        const { bridge, owner: by } = await world.elsewhere({ monotonicMs: () => 0 })
        for (let attempt = 0; attempt <= freeAttempts; attempt += 1) {
          if (attempt === freeAttempts) prolongDelays(bridge.data)
          await send(contract.owner.signIn.confirm, { by, body: { password: wrong } })
        }
        return { by, body: { password: ownerPassword } }
      },
    },
  },

  'owner.signIn.password': {
    success: async (world) => {
      const { owner: by } = await world.elsewhere()
      return { by, body: { new_password: 'a new horse every day' } }
    },
    refusals: {},
  },

  'owner.signIn.list': {
    success: async (world) => {
      await world.signedIn()
      return { by: world.owner, query: '?limit=1' }
    },
    refusals: {},
  },

  'owner.signIn.revoke': {
    success: async (world) => {
      const other = await world.signedIn()
      const { id } = await other.ok<{ id: string }>({ target: '/api/admin/session' })
      return { by: world.owner, params: { id }, body: {} }
    },
    refusals: {
      not_found: async (world) => ({ by: world.owner, params: { id: unknownId }, body: {} }),
    },
  },
}
