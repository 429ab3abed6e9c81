/** Cases of transfers and packages, by agents and by the owner. */
import type { EndpointId } from '../../../sdk/contract/index.ts'
import { finalize, offer, offerBody, putOther, putPart } from '../../support/files.ts'
import { type SomeCases, unknownId } from './case.ts'
import { fillInbox } from './full-inbox.ts'
import type { Ready } from './send.ts'
import {
  accepted,
  busy,
  byAda,
  byBen,
  byOwner,
  bytes,
  deposit,
  deposited,
  direct,
  downloads,
  end,
  ended,
  expired,
  fetched,
  offered,
  part,
  partSize,
  paused,
  receiptOf,
  received,
  secretIn,
  ttl,
  unknown,
  unpaired,
  uploaded,
  verified,
  withParts,
} from './transfer-stages.ts'

export const transferCases: SomeCases<
  | Extract<EndpointId, `transfers.${string}`>
  | Extract<EndpointId, `packages.${string}`>
  | Extract<EndpointId, `owner.transfers.${string}`>
> = {
  'transfers.create': {
    success: async (world) => {
      const { ada, ben } = await world.pair()
      const fields = { ttl_seconds: ttl }
      return { by: ada, body: await offerBody({ from: ada, to: ben, bytes, partSize, fields }) }
    },
    also: {
      'for a direct transfer': async (world) => {
        const { ada, ben } = await world.pair()
        return { by: ada, body: await offerBody({ from: ada, to: ben, bytes, fields: direct }) }
      },
    },
    refusals: {
      not_found: async (world) => {
        const { ada, ben } = await world.pair()
        const fields = { conversation_id: unknownId }
        return { by: ada, body: await offerBody({ from: ada, to: ben, bytes, fields }) }
      },
      pairing_disabled: async (world) => {
        const pair = await world.pair()
        const body = await offerBody({ from: pair.ada, to: pair.ben, bytes })
        await world.setPairing(pair, false)
        return { by: pair.ada, body }
      },
      state_conflict: async (world) => {
        const { ada, ben, project } = await world.pair()
        const body = await offerBody({ from: ada, to: ben, bytes })
        await world.setAgent(project.id, ben.id, 'disabled')
        return { by: ada, body }
      },
      manifest_invalid: async (world) => {
        const { ada, ben } = await world.pair()
        return { by: ada, body: await offerBody({ from: ada, to: ben, bytes, fields: { size: 1 } }) }
      },
      idempotency_conflict: async (world) => {
        const { ada, ben } = await world.pair()
        const key = crypto.randomUUID()
        const body = await offerBody({ from: ada, to: ben, bytes })
        await ada.ok({ target: '/api/v1/transfers', body, key })
        return { by: ada, body: { ...body, filename: 'other.pdf' }, key }
      },
      project_paused: async (world) => {
        const { ada, ben, project } = await world.pair()
        const body = await offerBody({ from: ada, to: ben, bytes })
        await world.setProject(project.id, 'paused')
        return { by: ada, body }
      },
      capacity_reached: async (world) => {
        const { ada, ben } = await world.pair()
        const body = await offerBody({ from: ada, to: ben, bytes })
        await ada.ok({ target: '/api/v1/transfers', body })
        fillInbox(world.bridge.data, ben.id)
        return { by: ada, body }
      },
    },
  },

  'transfers.list': {
    success: async (world) => ({
      by: (await offered(world, direct)).pair.ada,
      query: '?limit=1&role=sender&state=offered',
    }),
    refusals: {},
  },

  'transfers.get': {
    success: async (world) => {
      const { pair, params } = await verified(world)
      return { by: pair.ben, params }
    },
    refusals: { not_found: unknown() },
  },

  'transfers.accept': {
    success: async (world) => byBen({})(await offered(world, direct)) as Ready,
    refusals: {
      not_found: unknown({ body: {} }),
      not_permitted: async (world) => byAda({})(await offered(world, direct)),
      state_conflict: async (world) => byBen({})(await ended(world, direct)),
      offer_expired: async (world) => byBen({})(await expired(world, direct)),
      project_paused: async (world) => byBen({})(await paused(await offered(world, direct))),
      pairing_disabled: async (world) => byBen({})(await unpaired(await offered(world, direct))),
    },
  },

  'transfers.decline': {
    success: async (world) => byBen({ reason: 'too large' })(await offered(world, direct)) as Ready,
    refusals: {
      not_found: unknown({ body: {} }),
      not_permitted: async (world) => byAda({})(await offered(world, direct)),
      state_conflict: async (world) => byBen({})(await accepted(world, direct)),
      offer_expired: async (world) => byBen({})(await expired(world, direct)),
    },
  },

  'transfers.cancel': {
    success: async (world) => byAda({ reason: 'wrong file' })(await accepted(world, direct)) as Ready,
    refusals: {
      not_found: unknown({ body: {} }),
      state_conflict: async (world) => byAda({})(await received(world)),
      offer_expired: async (world) => byAda({})(await expired(world, direct)),
    },
  },

  'transfers.fail': {
    success: async (world) => byBen({ reason: 'disk full' })(await accepted(world, direct)) as Ready,
    refusals: {
      not_found: unknown({ body: {} }),
      state_conflict: async (world) => byAda({})(await offered(world, direct)),
      offer_expired: async (world) => byAda({})(await expired(world, direct)),
    },
  },

  'transfers.receipt': {
    success: async (world) => {
      const stage = await accepted(world, direct)
      return byBen(receiptOf(stage))(stage) as Ready
    },
    refusals: {
      not_found: unknown({ body: { size: 1, sha256: 'a'.repeat(64) } }),
      not_permitted: async (world) => {
        const stage = await accepted(world, direct)
        return byAda(receiptOf(stage))(stage)
      },
      state_conflict: async (world) => {
        const stage = await offered(world, direct)
        return byBen(receiptOf(stage))(stage)
      },
      offer_expired: async (world) => {
        const stage = await expired(world, direct)
        return byBen(receiptOf(stage))(stage)
      },
      receipt_mismatch: async (world) =>
        byBen({ size: 1, sha256: 'a'.repeat(64) })(await accepted(world, direct)),
    },
  },

  'transfers.cleanup': {
    success: async (world) => byAda({})(await ended(world, direct)) as Ready,
    refusals: {
      not_found: unknown({ body: {} }),
      state_conflict: async (world) => byAda({})(await offered(world, direct)),
    },
  },

  'transfers.deposit': {
    success: async (world) => deposit(await accepted(world, direct)) as Ready,
    refusals: {
      not_found: async (world) => unknown({ body: secretIn(world) })(world),
      not_permitted: async (world) => {
        const { pair, params } = await accepted(world, direct)
        return { by: pair.ben, params, body: secretIn(world) }
      },
      state_conflict: async (world) => deposit(await accepted(world)),
      offer_expired: async (world) => deposit(await expired(world, direct)),
      project_paused: async (world) => deposit(await paused(await accepted(world, direct))),
      pairing_disabled: async (world) => deposit(await unpaired(await accepted(world, direct))),
    },
  },

  'transfers.secret': {
    success: async (world) => {
      const { pair, params } = await deposited(world)
      return { by: pair.ben, params }
    },
    refusals: {
      not_found: unknown(),
      not_permitted: async (world) => end(await deposited(world)),
      state_conflict: async (world) => end(await offered(world, direct)),
      offer_expired: async (world) => {
        const { pair, params, world: own } = await deposited(await world.elsewhere())
        own.bridge.clock.advance(601)
        return { by: pair.ben, params }
      },
      pairing_disabled: async (world) => end(await unpaired(await deposited(world))),
    },
  },

  'packages.status': {
    success: async (world) => end(await withParts(world)) as Ready,
    refusals: {
      not_found: unknown(),
      state_conflict: async (world) => end(await ended(world)),
      offer_expired: async (world) => end(await expired(world)),
      package_removed: async (world) => end(await verified(world)),
      pairing_disabled: async (world) => end(await unpaired(await accepted(world))),
    },
  },

  'packages.putPart': {
    success: async (world) => part(await accepted(world)) as Ready,
    refusals: {
      not_found: unknown({ body: Buffer.alloc(0) }),
      not_permitted: async (world) => {
        const { pair, params } = await accepted(world)
        return { by: pair.ben, params: { ...params, index: '0' }, body: bytes.subarray(0, partSize) }
      },
      state_conflict: async (world) => part(await ended(world)),
      offer_expired: async (world) => part(await expired(world)),
      project_paused: async (world) => part(await paused(await accepted(world))),
      pairing_disabled: async (world) => part(await unpaired(await accepted(world))),
      transfer_busy: busy,
      body_too_large: async (world) => ({
        ...((await part(await accepted(world))) as Ready),
        override: { 'Content-Length': String(97 * 1024 * 1024) },
      }),
      part_mismatch: async (world) => {
        const { pair, params } = await accepted(world)
        const signed = bytes.subarray(0, partSize)
        return putOther(pair.ada, params.id, 0, signed, Buffer.alloc(partSize))
      },
    },
  },

  'packages.getPart': {
    success: async (world) => fetched(await uploaded(world)) as Ready,
    refusals: {
      ...downloads,
      state_conflict: async (world) => fetched(await accepted(world)),
      offer_expired: async (world) => fetched(await expired(world)),
      pairing_disabled: async (world) => fetched(await unpaired(await accepted(world))),
      package_removed: async (world) => fetched(await verified(world)),
    },
  },

  'packages.finalize': {
    success: async (world) => end(await withParts(world)) as Ready,
    refusals: {
      not_found: unknown(),
      not_permitted: async (world) => {
        const { pair, params } = await withParts(world)
        return { by: pair.ben, params }
      },
      state_conflict: async (world) => end(await accepted(world)),
      offer_expired: async (world) => end(await expired(world)),
      project_paused: async (world) => end(await paused(await withParts(world))),
      pairing_disabled: async (world) => end(await unpaired(await accepted(world))),
      transfer_busy: async (world) => {
        const stage = await withParts(world)
        const replies = await Promise.all(
          Array.from({ length: 8 }, () => finalize(stage.pair.ada, stage.params.id)),
        )
        const refused = replies.find(({ status }) => status === 409)
        if (refused === undefined) throw new Error('eight ends at once did not meet')
        return refused
      },
      part_mismatch: async (world) => {
        const pair = await world.pair()
        const wrong = { sha256: 'a'.repeat(64) }
        const transfer = await offer({ from: pair.ada, to: pair.ben, bytes, partSize, fields: wrong })
        for (const { index, offset, size } of transfer.parts) {
          await putPart(pair.ada, transfer.id, index, bytes.subarray(offset, offset + size))
        }
        return finalize(pair.ada, transfer.id)
      },
    },
  },

  'packages.file': {
    success: async (world) => fetched(await uploaded(world)) as Ready,
    refusals: {
      ...downloads,
      state_conflict: async (world) => fetched(await accepted(world)),
      offer_expired: async (world) => fetched(await expired(world)),
      pairing_disabled: async (world) => fetched(await unpaired(await accepted(world))),
      package_removed: async (world) => fetched(await verified(world)),
    },
  },

  'owner.transfers.list': {
    success: async (world) => {
      const { pair } = await deposited(world)
      return { by: world.owner, params: { id: pair.project.id }, query: '?limit=1&state=accepted' }
    },
    refusals: { not_found: async (world) => ({ by: world.owner, params: { id: unknownId } }) },
  },

  'owner.transfers.get': {
    success: async (world) => byOwner(await deposited(world)),
    refusals: { not_found: async (world) => byOwner(await offered(world, direct), unknownId) },
  },

  'owner.transfers.cancel': {
    success: async (world) => ({ ...byOwner(await accepted(world, direct)), body: { reason: 'not here' } }),
    refusals: {
      not_found: async (world) => ({ ...byOwner(await offered(world, direct), unknownId), body: {} }),
      state_conflict: async (world) => ({ ...byOwner(await received(world)), body: {} }),
      offer_expired: async (world) => ({ ...byOwner(await expired(world, direct)), body: {} }),
    },
  },
}
