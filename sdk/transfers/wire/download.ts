/**
 * Downloads a file part by part and verifies it before it gets its name.
 *
 * Verified parts are stored in the part store of the destination folder. If a call fails, the next one
 * resumes with them. An existing file of that name is never overwritten, and an unfinished file never has the
 * name.
 *
 * Spec §4.5; contract §9.
 */
import { join } from 'node:path'
import { contentHashHeader } from '../../contract/helper/endpoints.ts'
import { type Translation, translations } from '../../contract/helper/errors.ts'
import type { Manifest, ManifestPart } from '../../contract/helper/manifest.ts'
import { ManifestChangedError } from '../../parts/committed-parts.ts'
import { Folder } from '../../parts/folder.ts'
import { PartError } from '../../parts/part-error.ts'
import { PartStore } from '../../parts/part-store.ts'
import { takeProcessLock } from '../../parts/process-lock.ts'
import { storageFailed } from '../../storage/durable-file.ts'
import { LocalError } from '../../transport/failures.ts'
import { Connection } from './connection.ts'
import type { FileEndpoint } from './endpoint.ts'
import { manifestDigest } from './manifest.ts'
import { PartRunner, statusOf, type TransferOptions } from './part-runner.ts'

/** Received file: its path, its size in bytes and its hash. */
export interface Downloaded {
  readonly path: string
  readonly size: number
  readonly sha256: string
}

/**
 * Downloads the file that the manifest describes into a folder, under the manifest's name.
 *
 * @throws LocalError `integrity` if the endpoint serves other bytes, `destination_exists`, `transfer_in_use`,
 * `transfer_expired`, `storage_failed`, `aborted`, and the codes of a failed connection; HelperError or
 * BridgeError if the endpoint refuses.
 */
export async function downloadFile(
  endpoint: FileEndpoint,
  manifest: Manifest,
  folderPath: string,
  options: TransferOptions = {},
): Promise<Downloaded> {
  const line = new Connection(endpoint)
  const folder = await Folder.open(folderPath).catch((error: unknown) => {
    throw storageFailed(folderPath, error)
  })
  try {
    const release = await takeProcessLock(folder.key, manifest.transfer_id)
    if (release === undefined)
      throw new LocalError('transfer_in_use', 'another process receives this transfer here')
    try {
      await fetchInto(folder, line, manifest, options)
    } finally {
      release()
    }
  } catch (error) {
    throw localError(error, manifest)
  } finally {
    line.close()
    await folder.close()
  }
  return { path: join(folderPath, manifest.filename), size: manifest.size, sha256: manifest.sha256 }
}

async function fetchInto(
  folder: Folder,
  line: Connection,
  manifest: Manifest,
  options: TransferOptions,
): Promise<void> {
  const store = await PartStore.open(folder, { ...manifest, digest: manifestDigest(manifest) })
  try {
    const work = new PartRunner(line, manifest, options)
    const there = new Set(store.committed)
    work.resume(manifest.parts.filter(({ index }) => there.has(index)))
    const missing = manifest.parts.filter(({ index }) => !there.has(index))
    if (missing.length > 0) await statusOf(work, line, manifest, options.signal)
    await work.all(missing, (part, { onBytes, signal }) =>
      fetchPart({ line, store, idleMs: work.idleMs }, part, { signal, onBytes }),
    )
    work.check()
    await store.finalize({ signal: options.signal })
  } finally {
    await store.close()
  }
}

interface Way {
  readonly line: Connection
  readonly store: PartStore
  readonly idleMs: number
}

async function fetchPart(
  { line, store, idleMs }: Way,
  part: ManifestPart,
  { signal, onBytes }: TransferOptions & { readonly onBytes: (count: number) => void },
): Promise<void> {
  const message = await line.send({ method: 'GET', path: `/parts/${part.index}`, signal, idleMs })
  const named = message.headers[contentHashHeader.toLowerCase()] ?? part.sha256
  const length = message.headers['content-length'] ?? String(part.size)
  if (named !== part.sha256 || length !== String(part.size)) {
    message.destroy()
    throw new PartError('hash_mismatch')
  }
  try {
    await store.receive(part.index, message, { signal, onBytes })
  } catch (error) {
    const isWhole = message.complete || !message.destroyed
    message.destroy()
    const code = error instanceof PartError ? error.code : undefined
    // A wrong length on an unbroken connection means other bytes than those of the manifest.
    if (code === 'length_mismatch' && isWhole) throw new PartError('hash_mismatch', { cause: error })
    // The connection broke inside the part or was too slow, so the part is tried again.
    if (code !== 'length_mismatch' && code !== 'too_slow') throw error
    throw new LocalError('unreachable', `the connection broke inside part ${part.index}`, { cause: error })
  }
}

/** Returns the client's error for a refusal of the part store. */
function localError(error: unknown, { filename }: Manifest): unknown {
  if (error instanceof ManifestChangedError) {
    const words = 'the folder holds parts of this transfer for another manifest'
    return new LocalError('integrity', words, { cause: error })
  }
  if (!(error instanceof PartError)) return error
  const { client } = translations[error.code]
  return new LocalError(client, clientWords[client](error.code, filename), { cause: error })
}

const clientWords: Record<Translation['client'], (code: string, filename: string) => string> = {
  integrity: () => 'what arrived is not what the manifest names',
  destination_exists: (_code, filename) => `${filename} exists with other content`,
  storage_failed: (code) => `cannot keep the file (${code})`,
}
