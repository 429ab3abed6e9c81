/**
 * Syncs of the WAL that the test controls, and a store whose first group is committed and waits for its sync.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import type { WalSync } from '../../../server/database/sqlite/wal-sync.ts'
import { add, openStore, type StoreOptions } from './store.ts'

/** Syncs that finish when the test ends them, or fail immediately from the moment the test requests it. */
export function held() {
  const syncs: PromiseWithResolvers<void>[] = []
  const handle: { closed: number; failure?: Error } = { closed: 0 }
  const walSync: WalSync = {
    sync() {
      if (handle.failure !== undefined) return Promise.reject(handle.failure)
      const sync = Promise.withResolvers<void>()
      syncs.push(sync)
      return sync.promise
    },
    syncNow() {},
    close() {
      handle.closed += 1
    },
  }
  return { walSync, syncs, handle }
}

export const names = ['ada', 'ben', 'cleo']
export const until = async (condition: () => boolean) => {
  while (!condition()) await immediate()
}

/** Opens a store whose first group is committed and waits for its sync, and records the later answers. */
export async function committed(options: StoreOptions = {}) {
  const { walSync, syncs, handle } = held()
  // On a disk that counts as slow, even a single request is not synced on the main thread.
  let nowMs = 0
  const store = openStore({ monotonicMs: () => (nowMs += 10), ...options, walSync })
  const told: string[] = []
  const write = (name: string, password?: string) =>
    store.writer
      .write(async (tx) => {
        await add(tx, name, password)
        tx.afterCommit(() => told.push(`effect ${name}`))
      })
      .then(
        () => told.push(name),
        (error: { code?: string }) => told.push(`${name} ${error.code}`),
      )
  const first = Promise.all(names.map((name) => write(name)))
  await until(() => syncs.length === 1)
  return { ...store, syncs, handle, told, write, first }
}
