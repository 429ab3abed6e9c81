/**
 * Upload of one part. The store gets the last 64 KiB only after our own hash of the whole part agrees. So a
 * store that verifies nothing never has an object with other bytes.
 *
 * - Nothing is sent before there is more than the held back bytes, or the part is whole.
 * - An upload that is cut leaves no object, because its length is stated.
 */
import { PassThrough } from 'node:stream'
import { type Sink, usualPace } from '../../../sdk/parts/receive.ts'
import type { ObjectClient } from './client.ts'
import { StallLimit, type StallLimitOptions } from './stall-limit.ts'

/** Bytes that the store gets last. */
export const heldBytes = 64 * 1024

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

  return {
    stretchBytes: heldBytes,
    async write(stretch) {
      for (const chunk of stretch) {
        held.push(chunk)
        heldLength += chunk.length
      }
      for (let first = held[0]; first && heldLength - first.length >= heldBytes; first = held[0]) {
        held.shift()
        heldLength -= first.length
        await pass(first)
      }
    },
    async finish() {
      const { body, answer } = begin()
      for (const chunk of held.splice(0)) await pass(chunk)
      body.end()
      await new StallLimit({ ...options, pace: { ...pace, progressMs: 3 * pace.progressMs } }).wait(answer)
    },
    cut: () => stop.abort(),
  }
}
