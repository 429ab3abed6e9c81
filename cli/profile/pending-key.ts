/**
 * Key of an enrolment in flight. It is durable before the request is sent, because a lost key costs a new
 * enrolment. It is deleted if no node has it.
 *
 * If the profile belongs to another agent, this program refuses a code after it was claimed. The user then
 * names another profile, which claims the code again with the same key, read from the folder of the first
 * profile.
 *
 * Contract §4.
 */
import { access, readdir, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Fetch } from '../../sdk/index.ts'
import { readKeyFileIfThere } from './key-file.ts'

export interface PendingKey {
  readonly pem: string
  /** False if an earlier try created the key; its request may have reached the node. */
  readonly isNew: boolean
  /** Deletes the key here and in other profiles, and each folder that is then empty. */
  forget(): Promise<void>
}

export async function pendingKey(path: string): Promise<PendingKey> {
  const copies = [path, ...(await copiesElsewhere(path))]
  const forget = async () => {
    for (const copy of copies) {
      await rm(copy, { force: true })
      // Fails if the folder is not empty, because it holds a profile.
      await rmdir(dirname(copy)).catch(() => {})
    }
  }
  for (const copy of copies) {
    const stored = await readKeyFileIfThere(copy)
    if (stored === undefined) continue
    if (copy !== path) await write(path, stored)
    return { pem: stored, isNew: false, forget }
  }
  const sdk = await import('../../sdk/program.ts')
  const pem = sdk.exportPrivateKey(sdk.generateKeyPair().privateKey)
  await write(path, pem)
  return { pem, isNew: true, forget }
}

/** Files of this name in other profiles. */
async function copiesElsewhere(path: string): Promise<string[]> {
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
  const sdk = await import('../../sdk/program.ts')
  await sdk.makePrivateFolder(dirname(path))
  await sdk.writeDurably(path, pem)
}

/** Wraps fetch to record whether any request may have reached a node. */
export function observedFetch(fetch: Fetch): {
  readonly fetch: Fetch
  readonly mayHaveReached: () => boolean
} {
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

/** Error codes of requests that reached no node: no connection, or a failed TLS handshake. */
const neverSent =
  /^(ECONNREFUSED|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|EPERM|EACCES|EPROTO|ERR_(SSL|TLS)_.*|.*CERT.*|UNABLE_TO_.*)$/
