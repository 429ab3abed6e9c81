/**
 * Reading the object of a part: hashed as it arrives, and its last bytes are given only if the hash agrees.
 */
import { createHash } from 'node:crypto'
import type { ObjectClient } from './client.ts'
import { ObjectDiffersError } from './failure.ts'
import { StallLimit, type StallLimitOptions } from './stall-limit.ts'

interface Part {
  readonly key: string
  readonly size: number
  readonly sha256: string
}

/** The bytes of one part. */
export interface PartBytes {
  /** Calls `use` with all bytes in order. @throws ObjectDiffersError, StoreStalledError */
  each(use: (chunk: Buffer) => Promise<void> | void): Promise<void>
}

/** Resolves when the store has begun to answer. @throws StoreRefusal, StoreStalledError */
export async function readPart(
  client: Pick<ObjectClient, 'get'>,
  { key, size, sha256 }: Part,
  { signal, ...options }: StallLimitOptions & { readonly signal: AbortSignal },
): Promise<PartBytes> {
  const stallLimit = new StallLimit(options)
  const bytes = await stallLimit.wait(client.get(key, signal))
  return {
    async each(use) {
      const source = bytes[Symbol.asyncIterator]()
      const hash = createHash('sha256')
      let count = 0
      let last: Buffer | undefined
      try {
        for (;;) {
          const { done, value } = await stallLimit.wait(source.next())
          if (done === true) break
          stallLimit.moved(value.length)
          count += value.length
          if (count > size) throw new ObjectDiffersError(key)
          hash.update(value)
          if (last !== undefined) await use(last)
          last = value
        }
        if (count !== size || hash.digest('hex') !== sha256) throw new ObjectDiffersError(key)
        if (last !== undefined) await use(last)
      } finally {
        // Closes the connection if bytes are left.
        void source.return?.().catch(() => {})
      }
    },
  }
}
