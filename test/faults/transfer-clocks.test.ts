/**
 * Time in each phase of a transfer: it expires for both sides simultaneously and leaves nothing, and setting
 * the clock forward or back does not end it. Machines whose clock is wrong use the node's time, also after
 * broken connections.
 *
 * Runs with BRIDGE_TRANSFER_PHASES=all; skipped otherwise. Contract §9, expiry.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Transfer } from '../../sdk/contract/agent/transfers.ts'
import type { Bridge } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { bridgeOf } from '../support/bridges.ts'
import { openWire, type Wire } from '../support/cut-proxy.ts'
import { act, fileOf, finalize, look, offer, putPart, told, upload } from '../support/files.ts'
import type { Reply } from '../support/http.ts'
import { openStore } from '../support/test-store.ts'

const isRun = process.env.BRIDGE_TRANSFER_PHASES === 'all'

let bridge: TestBridge
let wire: Wire
let folder: string
const bytes = fileOf(100_000)
const partSize = 50_000
const part = (index: number) => bytes.subarray(index * partSize, (index + 1) * partSize)
const ttl = 3600

beforeAll(async () => {
  if (!isRun) return
  bridge = await startBridge()
  wire = await openWire(() => Number(new URL(bridge.url).port))
  folder = await mkdtemp(join(tmpdir(), 'bridge-clocks-'))
  await writeFile(join(folder, 'report.pdf'), bytes)
})
afterAll(async () => {
  if (!isRun) return
  await wire.close()
  await rm(folder, { recursive: true, force: true })
  await bridge.close()
})

const given = (mode: 'package' | 'direct') =>
  offer({ from: bridge.ada, to: bridge.ben, bytes, partSize, fields: { mode, ttl_seconds: ttl } })
const accept = (id: string) => act(bridge.ben, id, 'accept')
const deposit = (id: string) =>
  act(bridge.ada, id, 'secret', {
    endpoint: 'https://abc.example',
    token: 'T'.repeat(43),
    expires_at: new Date(bridge.clock().getTime() + 600_000).toISOString(),
    helper_mode: 'download',
  })
const secret = (id: string) => bridge.ben.call({ target: `/api/v1/transfers/${id}/secret` })
const fetched = (id: string) => bridge.ben.call({ target: `/api/v1/transfers/${id}/package/parts/1` })
const receipt = ({ id, size, sha256 }: Transfer) => act(bridge.ben, id, 'receipt', { size, sha256 })

interface Phase {
  readonly mode: 'package' | 'direct'
  /** Brings a fresh offer into this phase. */
  readonly reach: (transfer: Transfer) => Promise<unknown>
  /** Performs the next step. */
  readonly next: (transfer: Transfer) => Promise<Reply>
  /** Performs the remaining steps, until verified. */
  readonly rest: (transfer: Transfer) => Promise<unknown>
}

const nothing = async () => {}
const phases: Readonly<Record<string, Phase>> = {
  'a package that is offered': {
    mode: 'package',
    reach: nothing,
    next: ({ id }) => putPart(bridge.ada, id, 0, part(0)),
    rest: async (transfer) => {
      await upload(bridge.ada, transfer, bytes)
      await accept(transfer.id)
    },
  },
  'a package that is half uploaded': {
    mode: 'package',
    reach: ({ id }) => putPart(bridge.ada, id, 0, part(0)),
    next: ({ id }) => putPart(bridge.ada, id, 1, part(1)),
    rest: async ({ id }) => {
      await finalize(bridge.ada, id)
      await accept(id)
    },
  },
  'a package that has all its parts': {
    mode: 'package',
    reach: async ({ id }) => {
      for (const index of [0, 1]) await putPart(bridge.ada, id, index, part(index))
    },
    next: ({ id }) => finalize(bridge.ada, id),
    rest: ({ id }) => accept(id),
  },
  'a package that is uploaded': {
    mode: 'package',
    reach: (transfer) => upload(bridge.ada, transfer, bytes),
    next: ({ id }) => accept(id),
    rest: nothing,
  },
  'a package that is accepted': {
    mode: 'package',
    reach: async (transfer) => {
      await upload(bridge.ada, transfer, bytes)
      await accept(transfer.id)
    },
    next: ({ id }) => fetched(id),
    rest: nothing,
  },
  'a file that is offered directly': {
    mode: 'direct',
    reach: nothing,
    next: ({ id }) => deposit(id),
    rest: ({ id }) => accept(id),
  },
  'a file whose endpoint is deposited': {
    mode: 'direct',
    reach: ({ id }) => deposit(id),
    next: ({ id }) => accept(id),
    rest: nothing,
  },
  'a file whose endpoint may be read': {
    mode: 'direct',
    reach: async ({ id }) => {
      await accept(id)
      await deposit(id)
    },
    next: async ({ id }) => {
      // If the clock expired the endpoint, a new one is deposited.
      const read = await secret(id)
      if (told(read)[1] !== 'offer_expired' || (await look(bridge.ben, id)).state !== 'accepted') return read
      await deposit(id)
      return secret(id)
    },
    rest: nothing,
  },
  'a file whose receipt is due': {
    mode: 'direct',
    reach: async ({ id }) => {
      await accept(id)
      await deposit(id)
      await secret(id)
    },
    next: receipt,
    rest: nothing,
  },
}

const hasBytes = (id: string) => existsSync(join(bridge.data, 'packages', id))
function secretsOf(id: string): number {
  const database = openStore(bridge.data)
  try {
    const sql = 'SELECT count(*) FROM transfer_secrets WHERE transfer_id = ?'
    return database.prepare<number>(sql).pluck().get(id) as number
  } finally {
    database.close()
  }
}

/**
 * Expects that the transfer has ended for both sides: each next step is refused without a byte or a token.
 */
async function expectOver(phase: Phase, transfer: Transfer): Promise<void> {
  const { id } = transfer
  expect(told(await phase.next(transfer))).toEqual([410, 'offer_expired'])
  expect(told(await receipt(transfer))).toEqual([410, 'offer_expired'])
  for (const side of [bridge.ada, bridge.ben])
    expect(await look(side, id)).toMatchObject({ state: 'expired', receipt: null })
  // A list stores the expiry, as maintenance does every fifteen seconds.
  await bridge.ada.ok({ target: '/api/v1/transfers' })
  await expect.poll(() => hasBytes(id)).toBe(false)
  expect(secretsOf(id)).toBe(0)
}

async function expectVerified({ next, rest }: Phase, transfer: Transfer): Promise<void> {
  expect((await next(transfer)).status).toBe(200)
  await rest(transfer)
  if (transfer.mode === 'package') {
    const file = await bridge.ben.call({ target: `/api/v1/transfers/${transfer.id}/package/file` })
    expect(file.bytes.equals(bytes)).toBe(true)
  }
  expect((await receipt(transfer)).json).toMatchObject({ state: 'verified' })
  await expect.poll(() => hasBytes(transfer.id)).toBe(false)
  expect(secretsOf(transfer.id)).toBe(0)
}

describe.skipIf(!isRun).each(Object.entries(phases))('%s', (_, phase) => {
  const reached = async () => {
    const transfer = await given(phase.mode)
    await phase.reach(transfer)
    return transfer
  }

  test('expires for both sides and leaves nothing', async () => {
    const transfer = await reached()
    bridge.clock.advance(ttl + 1)
    await expectOver(phase, transfer)
  })

  test('continues although the clock is set past its end, and expires when that time has passed', async () => {
    for (const step of [2 * ttl, -2 * ttl]) {
      const [first, second] = [await reached(), await reached()]
      bridge.clock.step(step)
      await expectVerified(phase, first)
      bridge.clock.advance(ttl + 1)
      await expectOver(phase, second)
    }
  })

  test('continues after the clock was set forward and back again', async () => {
    const transfer = await reached()
    bridge.clock.step(2 * ttl)
    expect((await look(bridge.ada, transfer.id)).state).not.toBe('expired')
    bridge.clock.step(-2 * ttl)
    await expectVerified(phase, transfer)
  })
})

/** An agent on a machine whose clock is this many seconds ahead. */
function on(agent: 'ada' | 'ben', secondsAhead: number): Bridge {
  const clock = Object.assign(() => new Date(bridge.clock().getTime() + secondsAhead * 1000), bridge.clock)
  return bridgeOf({ ...bridge, url: wire.url, clock }, bridge[agent])
}

test.skipIf(!isRun).each([2 * ttl, -2 * ttl])(
  'a part in transfer continues on a node whose clock is set by %i s, in both directions',
  async (seconds) => {
    const [sender, recipient] = [on('ada', 0), on('ben', 0)]
    const struck = (step: string) =>
      wire.arm({ step, moment: 'half', act: async () => bridge.clock.step(seconds) })
    try {
      void struck('PUT /api/v1/transfers/{id}/package/parts/0 #1')
      const { id } = await sender.transfers.send(join(folder, 'report.pdf'), { to: 'ben', ttlSeconds: ttl })
      void struck('GET /api/v1/transfers/{id}/package/parts/0 #1')
      const { path } = await recipient.transfers.receive(id, join(folder, `set-${seconds}`))
      expect((await readFile(path)).equals(bytes)).toBe(true)
    } finally {
      await sender.close()
      await recipient.close()
      bridge.clock.step(-2 * seconds)
    }
  },
)

const day = 86_400

describe.skipIf(!isRun).each([
  ['two days ahead', 2 * day],
  ['two days behind', -2 * day],
])('machines that are %s', (_, seconds) => {
  test('resume after a broken connection, in both directions', async () => {
    const sender = on('ada', seconds)
    const recipient = on('ben', seconds)
    try {
      let cuts = 0
      const act = async () => {
        cuts += 1
      }
      void wire.arm({ step: 'PUT /api/v1/transfers/{id}/package/parts/0 #1', moment: 'half', act })
      const { id } = await sender.transfers.send(join(folder, 'report.pdf'), { to: 'ben' })
      void wire.arm({ step: 'GET /api/v1/transfers/{id}/package/parts/0 #1', moment: 'half', act })
      const { path } = await recipient.transfers.receive(id, join(folder, `received-${seconds}`))
      expect(cuts).toBe(2)
      expect((await readFile(path)).equals(bytes)).toBe(true)
    } finally {
      await sender.close()
      await recipient.close()
    }
  })
})
