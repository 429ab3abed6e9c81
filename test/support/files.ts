/** A file as a transfer describes it, and the requests that move its parts without the SDK. */
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Transfer } from '../../sdk/contract/agent/transfers.ts'
import type { TestAgent } from './agent.ts'
import { exchange, type Reply } from './http.ts'

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** Returns non-repeating bytes, the same ones for the same arguments. */
export const fileOf = (size: number, seed = 1): Buffer =>
  Buffer.from(Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8) * 7 + seed) & 255))

/** Returns the bytes with another last one. */
export function otherThan(bytes: Buffer): Buffer {
  const other = Buffer.from(bytes)
  const last = other.length - 1
  other[last] = (other[last] ?? 0) ^ 1
  return other
}

export function describeBytes(bytes: Buffer, partSize = bytes.length) {
  const count = Math.max(1, Math.ceil(bytes.length / Math.max(1, partSize)))
  const parts = Array.from({ length: count }, (_, index) => {
    const part = bytes.subarray(index * partSize, (index + 1) * partSize)
    return { index, offset: index * partSize, size: part.length, sha256: sha256(part) }
  })
  return { size: bytes.length, sha256: sha256(bytes), parts }
}

export interface Offer {
  readonly from: TestAgent
  readonly to: TestAgent
  readonly bytes: Buffer
  readonly partSize?: number
  readonly fields?: object
}

export async function offerBody({ from, to, bytes, partSize, fields }: Offer) {
  return {
    conversation_id: await from.conversationWith(to.id),
    recipient_agent_id: to.id,
    filename: 'report.pdf',
    ...describeBytes(bytes, partSize),
    mode: 'package',
    encryption: 'none',
    ...fields,
  }
}

export const offer = async (given: Offer): Promise<Transfer> =>
  given.from.ok<Transfer>({ target: '/api/v1/transfers', body: await offerBody(given) })

const at = (id: string, what: string) => `/api/v1/transfers/${id}/${what}`

/** Performs an action of an agent on a transfer and returns the whole reply. */
export const act = (by: TestAgent, id: string, what: string, body: object = {}): Promise<Reply> =>
  by.call({ target: at(id, what), body, key: null })

export const look = (by: TestAgent, id: string): Promise<Transfer> =>
  by.ok<Transfer>({ target: `/api/v1/transfers/${id}` })

/**
 * Ends a transfer, and returns it once its bytes are removed. The answer waits two seconds for that, which a busy
 * machine may exceed.
 */
export async function endAndRemove(by: TestAgent, id: string, what: string, body = {}): Promise<Transfer> {
  const { json } = await act(by, id, what, body)
  return whenRemoved(by, json as Transfer)
}

export async function whenRemoved(by: TestAgent, ended: Transfer): Promise<Transfer> {
  let transfer = ended
  for (const untilMs = performance.now() + 60_000; transfer.package?.removed_at === null; ) {
    if (performance.now() > untilMs) throw new Error(`the bytes of ${ended.id} are not removed`)
    await sleep(50)
    transfer = await look(by, ended.id)
  }
  return transfer
}

export const putPart = (by: TestAgent, id: string, index: number, bytes: Buffer): Promise<Reply> =>
  by.call({ method: 'PUT', target: at(id, `package/parts/${index}`), body: bytes, key: null })

/**
 * Sends a part up to the given number of bytes. `finish` sends the remainder and returns the status; `cut`
 * closes the connection.
 */
export async function partlySent(by: TestAgent, id: string, body: Buffer, bytes: number, index = 0) {
  const target = at(id, `package/parts/${index}`)
  const signed = by.sign({ method: 'PUT', target, body, key: null }, body)
  const headers = { ...Object.fromEntries(signed), 'content-length': String(body.length) }
  const call = request(`${by.baseUrl}${target}`, { method: 'PUT', headers, agent: false })
  const answered = new Promise<number | 'cut'>((resolve) => {
    call.once('response', (message) => resolve(message.resume().statusCode ?? 0))
    call.once('error', () => resolve('cut'))
  })
  call.write(body.subarray(0, bytes))
  return {
    /** Resolves with the status of the answer, or when the connection was cut. */
    answered,
    finish(): Promise<number | 'cut'> {
      call.end(body.subarray(bytes))
      return answered
    },
    cut: () => void call.destroy(),
  }
}

/** Signs the request as the part of the offer, but sends another body. */
export function putOther(
  by: TestAgent,
  id: string,
  index: number,
  signed: Buffer,
  sent: Buffer,
): Promise<Reply> {
  const target = at(id, `package/parts/${index}`)
  const headers = by.sign({ method: 'PUT', target, body: signed, key: null }, signed)
  return exchange(by.baseUrl, { method: 'PUT', target, headers, body: sent })
}

export const finalize = (by: TestAgent, id: string): Promise<Reply> =>
  by.call({ method: 'POST', target: at(id, 'package/finalize'), key: null })

/** Uploads every part and completes the upload. */
export async function upload(by: TestAgent, { id, parts }: Transfer, bytes: Buffer): Promise<void> {
  for (const { index, offset, size } of parts) {
    const reply = await putPart(by, id, index, bytes.subarray(offset, offset + size))
    if (reply.status !== 200) throw new Error(`part ${index} answered ${reply.status}: ${reply.text}`)
  }
  const reply = await finalize(by, id)
  if (reply.status !== 200) throw new Error(`finalize answered ${reply.status}: ${reply.text}`)
}

export const told = ({ status, json }: Reply): [number, string | undefined] => [
  status,
  (json as { error?: string }).error,
]
