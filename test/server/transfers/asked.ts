/**
 * Requests for the bytes of a package, and for the endpoint of a direct transfer: their heads, with the body
 * held back.
 */
import { request } from 'node:http'
import { expect } from 'vitest'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import { type ErrorCode, errors } from '../../../sdk/contract/errors.ts'
import type { TestAgent } from '../../support/agent.ts'
import { act, fileOf, offer, sha256, told, upload } from '../../support/files.ts'
import { expectSame, stored } from '../../support/stored.ts'
import type { Pair, World } from '../endpoints/world.ts'

export const bytes = fileOf(600)
export const first = bytes.subarray(0, 400)
export const token = 'T'.repeat(43)

/** A package that its recipient may fetch, and a direct transfer whose endpoint is deposited. */
export interface Moving extends Pair {
  readonly package: string
  readonly direct: string
}

export async function moving(world: World): Promise<Moving> {
  const pair = await world.pair()
  const [stored, direct] = [await uploaded(pair), await deposited(world, pair)]
  await act(pair.ben, stored.id, 'accept')
  await act(pair.ben, direct.id, 'accept')
  return { ...pair, package: stored.id, direct: direct.id }
}

export async function uploaded({ ada, ben }: Pair, fields: object = {}): Promise<Transfer> {
  const transfer = await offer({ from: ada, to: ben, bytes, partSize: first.length, fields })
  await upload(ada, transfer, bytes)
  return transfer
}

export async function deposited(world: World, { ada, ben }: Pair, fields: object = {}): Promise<Transfer> {
  const transfer = await offer({ from: ada, to: ben, bytes, fields: { mode: 'direct', ...fields } })
  expect(told(await act(ada, transfer.id, 'secret', secret(world)))).toEqual([200, undefined])
  return transfer
}

const secret = (world: World) => ({
  endpoint: 'https://tunnel.example',
  token,
  expires_at: new Date(world.bridge.clock().getTime() + 600_000).toISOString(),
  helper_mode: 'download',
})

interface Operation {
  readonly method: 'GET' | 'PUT' | 'POST'
  readonly on: 'package' | 'direct'
  readonly path: string
  /** The side that has permission. */
  readonly side: 'ada' | 'ben' | 'both'
  readonly body?: (world: World) => Buffer
}

export const operations: readonly Operation[] = [
  { method: 'GET', on: 'package', path: 'package/status', side: 'both' },
  { method: 'GET', on: 'package', path: 'package/parts/0', side: 'ben' },
  { method: 'GET', on: 'package', path: 'package/file', side: 'ben' },
  { method: 'PUT', on: 'package', path: 'package/parts/0', side: 'ada', body: () => first },
  { method: 'POST', on: 'package', path: 'package/finalize', side: 'ada' },
  {
    method: 'POST',
    on: 'direct',
    path: 'secret',
    side: 'ada',
    body: (world) => Buffer.from(JSON.stringify(secret(world))),
  },
  { method: 'GET', on: 'direct', path: 'secret', side: 'ben' },
]

export interface Asked {
  readonly world: World
  readonly operation: Operation
  readonly target: string
  readonly body: Buffer
}

export type Headers = readonly (readonly [string, string])[]

/** Signs a request as the client of a transfer does: the hash of a part is stated in a header. */
export function signed(by: TestAgent, { operation, target, body }: Asked, session?: string): Headers {
  const { method } = operation
  const content = body.length > 0 ? { body } : {}
  const headers = by.sign({ method, target, key: null, ...content, ...(session && { session }) }, body)
  return method === 'PUT' ? [...headers, ['X-Content-SHA256', sha256(body)]] : headers
}

interface Heard {
  readonly status: number
  readonly error: string | undefined
  /** Whether the server requested the body with 100 Continue. */
  readonly invited: boolean
}

/** Sends the head only. The body is not sent, even if the server requests it. */
export function knock({ world, operation, target, body }: Asked, headers: Headers): Promise<Heard> {
  const { method } = operation
  const length = method === 'GET' ? {} : { 'content-length': String(body.length) }
  const expecting = body.length > 0 ? { expect: '100-continue' } : {}
  return new Promise((resolve, reject) => {
    const all = { ...Object.fromEntries(headers), ...length, ...expecting }
    const call = request(`${world.bridge.url}${target}`, { method, headers: all, agent: false })
    let invited = false
    call.once('continue', () => {
      invited = true
      call.end(body)
    })
    call.once('error', reject).once('response', async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      call.destroy()
      const { statusCode: status = 0 } = response
      const text = Buffer.concat(chunks).toString('utf8')
      resolve({ status, invited, error: status >= 400 ? (JSON.parse(text) as Heard).error : undefined })
    })
    if (body.length > 0) call.flushHeaders()
    else call.end()
  })
}

export const named = ({ method, path }: Operation) => `${method} ${path}`
export const refused = (code: ErrorCode) => ({ status: errors[code].status, error: code })

export function askFor(world: World, operation: Operation, place: Moving): Asked {
  const target = `/api/v1/transfers/${place[operation.on]}/${operation.path}`
  return { world, operation, target, body: operation.body?.(world) ?? Buffer.alloc(0) }
}

/** Expects that every operation is refused with these headers; no byte is accepted and nothing changes. */
export async function expectRefused(
  world: World,
  place: Moving,
  code: ErrorCode,
  headersOf: (asked: Asked, by: TestAgent) => Headers,
  { invited = false } = {},
): Promise<void> {
  const before = stored(world.bridge.data)
  for (const operation of operations) {
    const asked = askFor(world, operation, place)
    const heard = await knock(asked, headersOf(asked, place[operation.side === 'ada' ? 'ada' : 'ben']))
    // JSON is signed as a whole, so the server requests it once the head is valid; it never requests the
    // bytes of a part.
    const asksForBody = invited && operation.method === 'POST' && asked.body.length > 0
    expect({ at: named(operation), ...heard }).toEqual({
      at: named(operation),
      invited: asksForBody,
      ...refused(code),
    })
  }
  expectSame([stored(world.bridge.data)], [before])
}
