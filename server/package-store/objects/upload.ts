/**
 * Upload of one part. The store gets the last 64 KiB only after our own hash of the whole part agrees. So a
 * store that verifies nothing never has an object with other bytes.
 *
 * - A part of at most 1 MiB is sent when it is whole, so its request can be repeated. A longer one is a stream.
 * - Nothing is sent before there is more than the held back bytes, or the part is whole.
 * - An upload that is cut leaves no object, because its length is stated.
 */
import { PassThrough } from 'node:stream'
import { type Sink, usualPace } from '../../../sdk/parts/receive.ts'
import type { ObjectClient } from './client.ts'
import { StallLimit, type StallLimitOptions } from './stall-limit.ts'

/** Bytes that the store gets last. */
export const heldBytes = 64 * 1024
/** Most bytes of a part that is kept in memory until it is whole. */
const wholeBytes = 1024 * 1024

export interface PartUpload extends Sink {
  /** Sends the held back bytes and waits for the answer. @throws StoreRefusal, StoreStalledError */
  finish(): Promise<void>
  /** Closes the connection. Does nothing after the answer. */
  cut(): void
}

interface Part {
  readonly key: string
  readonly size: number
  readonly sha256: string
}

export function createUpload(
  client: Pick<ObjectClient, 'put'>,
  { key, size, sha256 }: Part,
  options: StallLimitOptions,
): PartUpload {
  const { pace = usualPace } = options
  const stallLimit = new StallLimit(options)
  const stop = new AbortController()
  const isWhole = size <= wholeBytes
  const held: Uint8Array[] = []
  let heldLength = 0
  let sending: { readonly body: PassThrough; readonly answer: Promise<void> } | undefined

  function begin() {
    if (sending !== undefined) return sending
    const body = new PassThrough({ highWaterMark: 4 * heldBytes })
    const answer = client.put(key, { sha256, size, body, signal: stop.signal })
    // A refusal may come while bytes are sent. `write` and `finish` report it.
    answer.catch((error: unknown) => void body.destroy(error as Error))
    body.on('error', () => {})
    sending = { body, answer }
    return sending
  }

  /** Resolves when the connection has room for more. */
  async function pass(chunk: Uint8Array): Promise<void> {
    const { body, answer } = begin()
    const taken = new Promise<void>((resolve, reject) => {
      body.write(chunk, (error) => (error ? reject(error) : resolve()))
    })
    await stallLimit.wait(Promise.race([taken, answer]))
    stallLimit.moved(chunk.length)
  }

  /** Waits for the answer to the whole part. */
  const answered = (answer: Promise<void>): Promise<void> =>
    new StallLimit({ ...options, pace: { ...pace, progressMs: 3 * pace.progressMs } }).wait(answer)

  return {
    stretchBytes: heldBytes,
    async write(stretch) {
      for (const chunk of stretch) {
        held.push(chunk)
        heldLength += chunk.length
      }
      if (isWhole) return
      for (let first = held[0]; first && heldLength - first.length >= heldBytes; first = held[0]) {
        held.shift()
        heldLength -= first.length
        await pass(first)
      }
    },
    async finish() {
      if (isWhole) {
        const body = Buffer.concat(held.splice(0))
        return answered(client.put(key, { sha256, size, body, signal: stop.signal }))
      }
      const { body, answer } = begin()
      for (const chunk of held.splice(0)) await pass(chunk)
      body.end()
      await answered(answer)
    },
    cut: () => stop.abort(),
  }
}
