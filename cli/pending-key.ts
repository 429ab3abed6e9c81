/**
 * The key of an enrolment that is under way: on disk before the node is asked, since a lost key costs a new enrolment, and
 * removed again once it is known that no node has it.
 *
 * Contract §4.
 */
import { rm, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Fetch } from '../sdk/index.ts'
import { readKeyFileIfThere } from './key-file.ts'

export interface PendingKey {
  readonly pem: string
  /** Not of an earlier try, whose request may have got through. */
  readonly isNew: boolean
  /** The key, and the folder where nothing else is in it. */
  forget(): Promise<void>
}

export async function pendingKey(path: string): Promise<PendingKey> {
  const forget = async () => {
    await rm(path, { force: true })
    // Not empty: a profile lives there.
    await rmdir(dirname(path)).catch(() => {})
  }
  const stored = await readKeyFileIfThere(path)
  if (stored !== undefined) return { pem: stored, isNew: false, forget }
  const sdk = await import('../sdk/index.ts')
  const pem = sdk.exportPrivateKey(sdk.generateKeyPair().privateKey)
  await sdk.makePrivateFolder(dirname(path))
  await sdk.writeDurably(path, pem)
  return { pem, isNew: true, forget }
}

/** The same fetch, and whether any request of it may have reached a node. */
export function noting(fetch: Fetch): { readonly fetch: Fetch; readonly mayHaveReached: () => boolean } {
  let reached = false
  return {
    mayHaveReached: () => reached,
    fetch: async (url, init) => {
      try {
        const answer = await fetch(url, init)
        reached = true
        return answer
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException
        if (!neverSent.test(code)) reached = true
        throw error
      }
    },
  }
}

/** No connection, or none that both sides call TLS. */
const neverSent =
  /^(ECONNREFUSED|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|EPERM|EACCES|EPROTO|ERR_(SSL|TLS)_.*|.*CERT.*|UNABLE_TO_.*)$/
