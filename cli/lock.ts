/** The lock of sdk/storage/lock.ts; a file that cannot be locked at all is a failure of the command. Contract §12. */
import * as sdk from '../sdk/storage/lock.ts'
import { CommandError } from './exit-codes.ts'

export type Lock = sdk.Lock

/** The lock, or undefined while another process holds it. */
export async function takeLock(path: string): Promise<Lock | undefined> {
  try {
    return await sdk.takeLock(path)
  } catch (cause) {
    throw new CommandError('unexpected', `cannot lock ${path}`, { cause })
  }
}
