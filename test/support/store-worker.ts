/**
 * Thread that runs the SQL of a test on PostgreSQL; see `test-store.ts`. The test waits for each answer
 * without its event loop, as it waits for SQLite.
 */
import { type MessagePort, workerData } from 'node:worker_threads'
import { PostgresConnection } from '../../server/database/postgres/connection.ts'

export interface StoreRequest {
  readonly id: number
  readonly url: string
  /** Undefined closes the connection. */
  readonly text?: string | undefined
  readonly values?: readonly unknown[] | undefined
}

export type StoreAnswer =
  | { readonly rows: readonly Readonly<Record<string, unknown>>[]; readonly count: number }
  | { readonly error: string }

const { port, ready } = workerData as { port: MessagePort; ready: Int32Array }
const connections = new Map<number, PostgresConnection>()

async function answer({ id, url, text, values }: StoreRequest): Promise<StoreAnswer> {
  try {
    const connection = connections.get(id) ?? (await PostgresConnection.open({ url }))
    connections.set(id, connection)
    if (text === undefined) {
      connections.delete(id)
      await connection.close()
      return { rows: [], count: 0 }
    }
    const { rows, count } = await connection.query<Record<string, unknown>>({
      text,
      ...(values !== undefined && { values }),
    })
    // Several statements in one text have no common rows.
    return { rows: rows ?? [], count }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

port.on('message', async (request: StoreRequest) => {
  port.postMessage(await answer(request))
  Atomics.store(ready, 0, 1)
  Atomics.notify(ready, 0)
})
