/** Wrapper of sdk/storage/lock.ts. If the file cannot be locked at all, the command fails. Contract §12. */
import * as sdk from '../../sdk/storage/lock.ts'
import { CommandError } from '../exit-codes.ts'

export type Lock = sdk.Lock

/** Takes the lock. Returns undefined while another process holds it. */
export async function takeLock(path: string): Promise<Lock | undefined> {
  try {
    return await sdk.takeLock(path)
  } catch (cause) {
    const { code, errstr } = cause as NodeJS.ErrnoException & { readonly errstr?: string }
    throw new CommandError('unexpected', `cannot lock ${path} (${errstr ?? code ?? String(cause)})`, {
      cause,
    })
  }
}
