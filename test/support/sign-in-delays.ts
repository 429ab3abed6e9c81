/** Delays of sign-ins in tests. */
import { isOnPostgres } from './postgres.ts'
import { withStore } from './test-store.ts'

/**
 * Lets the next delay last minutes on PostgreSQL, which measures it by its own clock. Without it the first one
 * lasts one second, which a busy machine may need for the next request. On SQLite a bridge with
 * `monotonicMs: () => 0` is enough.
 */
export function prolongDelays(data: string): void {
  if (isOnPostgres) withStore(data, (store) => store.exec('UPDATE sign_in_failures SET failures = 12'))
}
