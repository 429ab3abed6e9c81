/**
 * The key of an enrolment that is in flight. It is on disk before the node is asked, since a lost key costs a new
 * enrolment, and is removed when no node has it.
 *
 * A code may be refused after its claim, because its profile is another agent's. The user then names another profile,
 * which claims the code again with the same key, from the folder where it lies.
 *
 * Contract §4.
 */
import { access, readdir, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Fetch } from '../../sdk/index.ts'
import { readKeyFileIfThere } from './key-file.ts'

export interface PendingKey {
  readonly pem: string
  /** Not of an earlier try, whose request may have got through. */
  readonly isNew: boolean
  /** The key, here and in other profiles, and each folder where nothing else is in it. */
  forget(): Promise<void>
}

export async function pendingKey(path: string): Promise<PendingKey> {
  const all = [path, ...(await besides(path))]
  const forget = async () => {
    for (const each of all) {
      await rm(each, { force: true })
      // Not empty: a profile lives there.
      await rmdir(dirname(each)).catch(() => {})
    }
  }
  for (const each of all) {
    const stored = await readKeyFileIfThere(each)
    if (stored === undefined) continue
    if (each !== path) await write(path, stored)
    return { pem: stored, isNew: false, forget }
  }
  const sdk = await import('../../sdk/index.ts')
  const pem = sdk.exportPrivateKey(sdk.generateKeyPair().privateKey)
  await write(path, pem)
  return { pem, isNew: true, forget }
}

/** The files of this name in other profiles. */
async function besides(path: string): Promise<string[]> {
  const profiles = dirname(dirname(path))
  const found: string[] = []
  for (const name of await readdir(profiles).catch((): string[] => [])) {
    const other = join(profiles, name, basename(path))
    const isThere = await access(other).then(
      () => true,
      () => false,
    )
    if (isThere && other !== path) found.push(other)
  }
  return found
}

async function write(path: string, pem: string): Promise<void> {
  const sdk = await import('../../sdk/index.ts')
  await sdk.makePrivateFolder(dirname(path))
  await sdk.writeDurably(path, pem)
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
