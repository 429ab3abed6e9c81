/** Transfers in each state that the cases need, and the requests that follow. */
import { vi } from 'vitest'
import { fileOf, look, offer, putPart, upload } from '../../support/files.ts'
import type { Reply } from '../../support/http.ts'
import { soon } from '../../support/waits.ts'
import { type Make, unknownId } from './case.ts'
import type { Ready } from './send.ts'
import type { Pair, World } from './world.ts'

export const bytes = fileOf(300)
export const partSize = 200
export const ttl = 60

interface Stage {
  readonly world: World
  readonly pair: Pair
  readonly transfer: Awaited<ReturnType<typeof offer>>
  readonly params: { readonly id: string }
}

export async function offered(world: World, fields: object = {}): Promise<Stage> {
  const pair = await world.pair()
  const transfer = await offer({ from: pair.ada, to: pair.ben, bytes, partSize, fields })
  return { world, pair, transfer, params: { id: transfer.id } }
}

const act = (by: Pair['ada'], id: string, verb: string, body: object = {}) =>
  by.ok({ target: `/api/v1/transfers/${id}/${verb}`, body, key: null })

export async function accepted(world: World, fields: object = {}): Promise<Stage> {
  const stage = await offered(world, fields)
  await act(stage.pair.ben, stage.params.id, 'accept')
  return stage
}

export async function uploaded(world: World): Promise<Stage> {
  const stage = await accepted(world)
  await upload(stage.pair.ada, stage.transfer, bytes)
  return stage
}

export const receiptOf = ({ transfer: { size, sha256 } }: Stage) => ({ size, sha256 })

export async function verified(world: World): Promise<Stage> {
  const stage = await uploaded(world)
  await act(stage.pair.ben, stage.params.id, 'receipt', receiptOf(stage))
  return settled(stage)
}

/** Brings a direct transfer, which has no package, to the state received. */
export async function received(world: World): Promise<Stage> {
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

export async function ended(world: World, fields: object = {}): Promise<Stage> {
  const stage = await offered(world, fields)
  await act(stage.pair.ada, stage.params.id, 'cancel')
  return settled(stage)
}

/** Uses a separate server, whose clock moves. */
export async function expired(world: World, fields: object = {}): Promise<Stage> {
  const stage = await accepted(await world.elsewhere(), { ttl_seconds: ttl, ...fields })
  stage.world.bridge.clock.advance(ttl + 1)
  // A list request stores the expiry.
  await stage.pair.ada.ok({ target: '/api/v1/transfers' })
  return settled(stage)
}

export const direct = { mode: 'direct' }

export const paused = async (stage: Stage): Promise<Stage> => {
  await stage.world.setProject(stage.pair.project.id, 'paused')
  return stage
}

export const unpaired = async (stage: Stage): Promise<Stage> => {
  await stage.world.setPairing(stage.pair, false)
  if (stage.transfer.mode === 'direct') return stage
  await stage.world.setPairing(stage.pair, true)
  await settled(stage)
  await stage.world.setPairing(stage.pair, false)
  return stage
}

type Send = (stage: Stage) => Ready | Reply | Promise<Ready | Reply>

export const unknown =
  (more: Partial<Ready> = {}): Make =>
  async (world) => ({ by: await world.agent(), params: { id: unknownId, index: '0' }, ...more })

/** Makes an action of the recipient on an offer. */
export const byBen =
  (body: object): Send =>
  ({ pair, params }) => ({ by: pair.ben, params, body })
export const byAda =
  (body: object): Send =>
  ({ pair, params }) => ({ by: pair.ada, params, body })

export const secretIn = (world: World, helper_mode = 'download') => ({
  endpoint: 'https://tunnel.example',
  token: 'A'.repeat(43),
  expires_at: new Date(world.bridge.clock().getTime() + 600_000).toISOString(),
  helper_mode,
})

export async function deposited(world: World): Promise<Stage> {
  const stage = await accepted(world, direct)
  await act(stage.pair.ada, stage.params.id, 'secret', secretIn(stage.world))
  return stage
}

export const deposit: Send = ({ world, pair, params }) => ({ by: pair.ada, params, body: secretIn(world) })
export const part: Send = ({ pair, params, transfer }) => ({
  by: pair.ada,
  params: { ...params, index: '0' },
  body: bytes.subarray(0, transfer.parts[0]?.size),
})
export const end: Send = ({ pair, params }) => ({ by: pair.ada, params })
export const fetched: Send = ({ pair, params }) => ({ by: pair.ben, params: { ...params, index: '1' } })

export async function withParts(world: World): Promise<Stage> {
  const stage = await accepted(world)
  for (const { index, offset, size } of stage.transfer.parts) {
    await putPart(stage.pair.ada, stage.params.id, index, bytes.subarray(offset, offset + size))
  }
  return stage
}

/** Sends a part whose last byte is held back until another upload of the package has been refused. */
export async function busy(world: World): Promise<Reply> {
  const { pair, transfer } = await offered(world)
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => putPart(pair.ada, transfer.id, 0, bytes.subarray(0, partSize))),
  )
  const refused = replies.find(({ status }) => status === 409)
  if (refused === undefined) throw new Error('eight uploads at once did not meet')
  return refused
}

export const byOwner = ({ world, pair, params }: Stage, id: string = params.id): Ready => ({
  by: world.owner,
  params: { id: pair.project.id, transfer_id: id },
})

export const downloads = {
  not_found: unknown(),
  not_permitted: async (world: World): Promise<Ready> => {
    const { pair, params } = await uploaded(world)
    return { by: pair.ada, params: { ...params, index: '0' } }
  },
}
