/**
 * A node as a process on a cluster of its own, under the load of writers, and the check of their history.
 *
 * The node must stay the same process throughout, and must report no bug.
 */
import { setUpOwner, type TestOwner } from '../../../support/owner.ts'
import type { Cluster } from '../../../support/postgres-cluster.ts'
import { type ServerProcess, startServerProcess } from '../../../support/process.ts'
import { Crew, enlist } from '../crew.ts'
import { type AuditRecord, checkHistory, type Operation } from '../history.ts'
import { readConversations } from '../kills.ts'
import type { StoredTask } from '../task-effects.ts'

export interface LoadOptions {
  /** The database as the node reaches it, by default the cluster itself. */
  readonly url?: string
  readonly writers?: number
  readonly seed: number
}

export interface Load {
  readonly server: ServerProcess
  readonly owner: TestOwner
  readonly crew: Crew
  /** Stops the writers and returns all faults; `stored` is the cluster that holds the database at the end. */
  end(stored: Cluster): Promise<{ readonly wrong: string[]; readonly operations: readonly Operation[] }>
  close(): Promise<void>
}

export async function startLoad(cluster: Cluster, options: LoadOptions): Promise<Load> {
  const server = await startServerProcess({ settings: { database: options.url ?? cluster.url } })
  const { pid } = server
  let crew: Crew | undefined
  const close = async () => {
    await crew?.close()
    await server.close()
  }
  try {
    const owner = await setUpOwner(server.url, server.setupLink)
    const { writers: count = 8, seed } = options
    const specs = await enlist(owner, { count, folder: server.folder, seed })
    const started = new Crew(server.url, specs, { stops: false })
    crew = started
    return {
      ...{ server, owner, close },
      crew: started,
      async end(stored) {
        await started.drain()
        const conversations = await readConversations(owner, started)
        const wrong = server.pid === pid ? [] : ['the process of the node ended']
        await server.kill('SIGTERM')
        const run = { operations: started.operations(), conversations, ...(await readStored(stored)) }
        wrong.push(...checkHistory(run), ...bugsIn(server.errors))
        return { wrong, operations: run.operations }
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Lines of the log that report a bug or the end of the process. */
export const bugsIn = (log: string): string[] =>
  log.split('\n').filter((line) => /"msg":"bug"|"level":60|^[^{]/.test(line))

/** The audit and the tasks that a cluster holds. */
export async function readStored(cluster: Cluster) {
  const records = await cluster.query<Omit<AuditRecord, 'details'> & { details: string }>(
    'SELECT kind, subject_id, at, details FROM audit ORDER BY id',
  )
  const audit = records.map(
    ({ details, ...record }): AuditRecord => ({ ...record, details: JSON.parse(details) }),
  )
  const tasks = await cluster.query<StoredTask & { generation: string; claim_ttl_seconds: string }>(
    `SELECT id, title, state, conversation_id, claim_generation::int AS generation, outcome_result AS result,
      claim_ttl_seconds::int, cancel_requested_at, stop_confirmed_at FROM tasks`,
  )
  return { audit, tasks: tasks as readonly StoredTask[] }
}

const gaveUpMs = 60_000
/** A node that is not ready says so within 1.5 s. */
const longestAnswerMs = 5000

/**
 * Resolves once the node is ready, with the milliseconds until the last question that it refused was asked. So a
 * slow answer of a busy machine does not count. @throws if it is not ready within a minute
 */
export async function readyAfter({ url }: { readonly url: string }): Promise<number> {
  const beganMs = performance.now()
  for (let refusedMs = 0; ; ) {
    const askedMs = performance.now() - beganMs
    const limit = AbortSignal.timeout(longestAnswerMs)
    const ready = await fetch(`${url}/api/ready`, { signal: limit }).then(
      ({ ok }) => ok,
      () => false,
    )
    if (ready) return refusedMs
    refusedMs = limit.aborted ? performance.now() - beganMs : askedMs
    if (askedMs > gaveUpMs) throw new Error('the node is not ready')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
