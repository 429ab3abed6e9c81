/** Cases of transfers and packages, by agents and by the owner. */
import { vi } from 'vitest'
import type { EndpointId } from '../../../sdk/contract/index.ts'
import { fileOf, finalize, look, offer, offerBody, putOther, putPart, upload } from '../../support/files.ts'
import type { Reply } from '../../support/http.ts'
import { soon } from '../../support/waits.ts'
import { type Make, type SomeCases, unknownId } from './case.ts'
import { fillInbox } from './full-inbox.ts'
import type { Ready } from './send.ts'
import type { Pair, World } from './world.ts'

const bytes = fileOf(300)
const partSize = 200
const ttl = 60

interface Stage {
  readonly world: World
  readonly pair: Pair
  readonly transfer: Awaited<ReturnType<typeof offer>>
  readonly params: { readonly id: string }
}

async function offered(world: World, fields: object = {}): Promise<Stage> {
  const pair = await world.pair()
  const transfer = await offer({ from: pair.ada, to: pair.ben, bytes, partSize, fields })
  return { world, pair, transfer, params: { id: transfer.id } }
}

const act = (by: Pair['ada'], id: string, verb: string, body: object = {}) =>
  by.ok({ target: `/api/v1/transfers/${id}/${verb}`, body, key: null })

async function accepted(world: World, fields: object = {}): Promise<Stage> {
  const stage = await offered(world, fields)
  await act(stage.pair.ben, stage.params.id, 'accept')
  return stage
}

async function uploaded(world: World): Promise<Stage> {
  const stage = await accepted(world)
  await upload(stage.pair.ada, stage.transfer, bytes)
  return stage
}

const receiptOf = ({ transfer: { size, sha256 } }: Stage) => ({ size, sha256 })

async function verified(world: World): Promise<Stage> {
  const stage = await uploaded(world)
  await act(stage.pair.ben, stage.params.id, 'receipt', receiptOf(stage))
  return settled(stage)
}

/** Brings a direct transfer, which has no package, to the state received. */
async function received(world: World): Promise<Stage> {
  const stage = await accepted(world, direct)
  await act(stage.pair.ben, stage.params.id, 'receipt', receiptOf(stage))
  return stage
}

/**
 * Waits until the package is deleted, which happens after the answer, so that later comparisons of stored
 * files are stable.
 */
async function settled(stage: Stage): Promise<Stage> {
  const { pair, params, transfer } = stage
  if (transfer.mode === 'direct') return stage
  await vi.waitFor(async () => {
    if ((await look(pair.ada, params.id)).cleanup.service_at === null) throw new Error('bytes are left')
  }, soon)
  return stage
}

async function ended(world: World, fields: object = {}): Promise<Stage> {
  const stage = await offered(world, fields)
  await act(stage.pair.ada, stage.params.id, 'cancel')
  return settled(stage)
}

/** Uses a separate server, whose clock moves. */
async function expired(world: World, fields: object = {}): Promise<Stage> {
  const stage = await accepted(await world.elsewhere(), { ttl_seconds: ttl, ...fields })
  stage.world.bridge.clock.advance(ttl + 1)
  // A list request stores the expiry.
  await stage.pair.ada.ok({ target: '/api/v1/transfers' })
  return settled(stage)
}

const direct = { mode: 'direct' }

const paused = async (stage: Stage): Promise<Stage> => {
  await stage.world.setProject(stage.pair.project.id, 'paused')
  return stage
}

const unpaired = async (stage: Stage): Promise<Stage> => {
  await stage.world.setPairing(stage.pair, false)
  if (stage.transfer.mode === 'direct') return stage
  await stage.world.setPairing(stage.pair, true)
  await settled(stage)
  await stage.world.setPairing(stage.pair, false)
  return stage
}

type Send = (stage: Stage) => Ready | Reply | Promise<Ready | Reply>

const unknown =
  (more: Partial<Ready> = {}): Make =>
  async (world) => ({ by: await world.agent(), params: { id: unknownId, index: '0' }, ...more })

/** Makes an action of the recipient on an offer. */
const byBen =
  (body: object): Send =>
  ({ pair, params }) => ({ by: pair.ben, params, body })
const byAda =
  (body: object): Send =>
  ({ pair, params }) => ({ by: pair.ada, params, body })

const secretIn = (world: World, helper_mode = 'download') => ({
  endpoint: 'https://tunnel.example',
  token: 'A'.repeat(43),
  expires_at: new Date(world.bridge.clock().getTime() + 600_000).toISOString(),
  helper_mode,
})

async function deposited(world: World): Promise<Stage> {
  const stage = await accepted(world, direct)
  await act(stage.pair.ada, stage.params.id, 'secret', secretIn(stage.world))
  return stage
}

const deposit: Send = ({ world, pair, params }) => ({ by: pair.ada, params, body: secretIn(world) })
const part: Send = ({ pair, params, transfer }) => ({
  by: pair.ada,
  params: { ...params, index: '0' },
  body: bytes.subarray(0, transfer.parts[0]?.size),
})
const end: Send = ({ pair, params }) => ({ by: pair.ada, params })
const fetched: Send = ({ pair, params }) => ({ by: pair.ben, params: { ...params, index: '1' } })

async function withParts(world: World): Promise<Stage> {
  const stage = await accepted(world)
  for (const { index, offset, size } of stage.transfer.parts) {
    await putPart(stage.pair.ada, stage.params.id, index, bytes.subarray(offset, offset + size))
  }
  return stage
}

/** Sends a part whose last byte is held back until another upload of the package has been refused. */
async function busy(world: World): Promise<Reply> {
  const { pair, transfer } = await offered(world)
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => putPart(pair.ada, transfer.id, 0, bytes.subarray(0, partSize))),
  )
  const refused = replies.find(({ status }) => status === 409)
  if (refused === undefined) throw new Error('eight uploads at once did not meet')
  return refused
}

const byOwner = ({ world, pair, params }: Stage, id: string = params.id): Ready => ({
  by: world.owner,
  params: { id: pair.project.id, transfer_id: id },
})

const downloads = {
  not_found: unknown(),
  not_permitted: async (world: World): Promise<Ready> => {
    const { pair, params } = await uploaded(world)
    return { by: pair.ada, params: { ...params, index: '0' } }
  },
}

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
