/**
 * Uploads a file part by part, to the node or to a helper.
 *
 * Parts that the receiver has committed are not sent again, so a broken connection costs at most one part.
 * The receiver reports size and hash of what it received, and they must match the manifest.
 *
 * Spec §3, §4.5.
 */
import { type FileHandle, open } from 'node:fs/promises'
import type { FileVerified, PartReceived, TransferStatus } from '../../contract/helper/endpoints.ts'
import type { Manifest, ManifestPart } from '../../contract/helper/manifest.ts'
import { storageFailed } from '../../storage/durable-file.ts'
import { BridgeError, HelperError, LocalError } from '../../transport/failures.ts'
import { Connection } from './connection.ts'
import type { FileEndpoint } from './endpoint.ts'
import { PartRunner, statusOf, type TransferOptions } from './part-runner.ts'

/** Time limit of finalize: the receiver verifies the whole file before it answers. */
const finalizeMs = 600_000

export interface UploadOptions extends TransferOptions {
  /** The offer is new, so the receiver has no part of it and is not asked which ones it has. */
  readonly isNew?: boolean | undefined
}

const nothingThere: Pick<TransferStatus, 'committed_parts' | 'verified'> = {
  committed_parts: [],
  verified: false,
}

/**
 * Uploads the file that the manifest describes. The receiver then verifies and publishes it.
 *
 * If a call failed, the next call sends only the missing parts.
 *
 * @throws LocalError `integrity` if the file does not match the manifest, `transfer_expired`, `aborted`, and
 * the codes of a failed connection; HelperError or BridgeError if the receiver refuses.
 */
export async function uploadFile(
  endpoint: FileEndpoint,
  manifest: Manifest,
  path: string,
  options: UploadOptions = {},
): Promise<FileVerified> {
  const file = await openSource(path, manifest)
  const line = new Connection(endpoint)
  try {
    return await new Upload(line, manifest, file, options).run()
  } finally {
    line.close()
    await file.close()
  }
}

async function openSource(path: string, manifest: Manifest): Promise<FileHandle> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    throw storageFailed(path, error)
  }
  if ((await file.stat()).size === manifest.size) return file
  await file.close()
  throw new LocalError('integrity', `the size of ${path} does not match the manifest`)
}

/** Whether the receiver lacks parts, which can be sent again. A node says so by a detail of its refusal. */
export const isPartsMissing = (error: unknown): boolean =>
  error instanceof BridgeError
    ? error.code === 'state_conflict' && error.details.missing === 'parts'
    : error instanceof HelperError && error.code === 'parts_missing'

class Upload {
  readonly #line: Connection
  readonly #manifest: Manifest
  readonly #file: FileHandle
  readonly #options: UploadOptions
  readonly #work: PartRunner

  constructor(line: Connection, manifest: Manifest, file: FileHandle, options: UploadOptions) {
    this.#line = line
    this.#manifest = manifest
    this.#file = file
    this.#options = options
    this.#work = new PartRunner(line, manifest, options)
  }

  async run(): Promise<FileVerified> {
    // A committed part may be damaged before finalize. Missing parts are sent again, at most twice.
    for (let round = 0; ; round += 1) {
      const isNew = round === 0 && this.#options.isNew === true
      await this.#sendMissing(isNew ? nothingThere : await this.#status())
      try {
        return await this.#finalize()
      } catch (error) {
        if (!isPartsMissing(error) || round >= 2) throw error
      }
    }
  }

  #status(): Promise<TransferStatus> {
    return statusOf(this.#work, this.#line, this.#manifest, this.#options.signal)
  }

  async #sendMissing({ committed_parts, verified }: typeof nothingThere): Promise<void> {
    const there = new Set(committed_parts)
    const { parts } = this.#manifest
    this.#work.resume(parts.filter(({ index }) => verified || there.has(index)))
    for (const part of parts) {
      if (!verified && !there.has(part.index))
        await this.#work.each(part, (_, { onBytes }) => this.#send(part, onBytes))
    }
  }

  async #send(part: ManifestPart, onBytes: (count: number) => void): Promise<void> {
    const received = await this.#line
      .ask<PartReceived>(
        {
          method: 'PUT',
          path: `/parts/${part.index}`,
          part: { file: this.#file, part },
          signal: this.#options.signal,
          onBytes,
          idleMs: this.#work.idleMs,
        },
        ['size', 'sha256'],
      )
      .catch((error: unknown) => {
        throw isOtherBytes(error)
          ? new LocalError('integrity', `part ${part.index} of the file does not match the manifest`, {
              cause: error,
            })
          : error
      })
    this.#requireMeasured(part, received)
  }

  async #finalize(): Promise<FileVerified> {
    const { signal } = this.#options
    this.#work.check()
    const verified = await this.#work.again(() =>
      this.#line.ask<FileVerified>(
        { method: 'POST', path: '/finalize', signal, idleMs: Math.max(finalizeMs, this.#work.idleMs) },
        ['verified', 'size', 'sha256'],
      ),
    )
    this.#requireMeasured(this.#manifest, verified)
    return verified
  }

  #requireMeasured(
    wanted: { readonly size: number; readonly sha256: string },
    measured: { readonly size: number; readonly sha256: string },
  ): void {
    if (measured.size === wanted.size && measured.sha256 === wanted.sha256) return
    throw new LocalError('integrity', 'size or hash of the received bytes does not match the manifest')
  }
}

const otherBytes: ReadonlySet<string> = new Set(['hash_mismatch', 'part_conflict', 'part_mismatch'])

const isOtherBytes = (error: unknown): boolean =>
  (error instanceof HelperError || error instanceof BridgeError) && otherBytes.has(error.code)
