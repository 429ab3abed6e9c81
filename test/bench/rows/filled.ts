/**
 * A node whose store has this many rows: two agents with a long conversation, ended tasks, and an audit of
 * everything.
 *
 * Rows are copied directly in the database of a stopped server. Each gets a new id and a time ten days ago,
 * in the order in which a node would have written them.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { setUpOwner, type TestOwner } from '../../support/owner.ts'
import type { ServerProcess } from '../../support/process.ts'
import { startOperated } from '../operated.ts'

export interface Filled {
  readonly server: ServerProcess
  readonly owner: TestOwner
  readonly projectId: string
  readonly ada: TestAgent
  readonly ben: TestAgent
  readonly conversationId: string
}

export interface Fill {
  /** The number of messages, of tasks and of audit records. */
  readonly rows: number
  /** Bytes of a message's body. */
  readonly bodyBytes: number
}

export async function startFilled(fill: Fill): Promise<Filled> {
  const server = await startOperated()
  try {
    const owner = await setUpOwner(server.url, server.setupLink)
    const { id: projectId } = await owner.createProject('filled')
    const agent = async (name: string) => {
      const { id } = await owner.createAgent(projectId, name)
      const enrolled = await enroll(server.url, await owner.enrollmentCode(projectId, id), () => new Date())
      await enrolled.startSession()
      return enrolled
    }
    const [ada, ben] = [await agent('ada'), await agent('ben')]
    const conversationId = await ada.conversationWith(ben.id)
    const filled = { server, owner, projectId, ada, ben, conversationId }
    await ada.send(conversationId, ben.id, 'hello')
    await endTask(filled)
    await server.kill('SIGTERM')
    write(join(server.data, 'bridge.db'), filled, fill)
    await server.start()
    return filled
  } catch (error) {
    await server.close()
    throw error
  }
}

const post = <T>(agent: TestAgent, target: string, body: object): Promise<T> => agent.ok({ target, body })

export const createTask = ({ ada, ben }: Filled): Promise<{ id: string }> =>
  post(ada, '/api/v1/tasks', { assignee_agent_id: ben.id, title: 'Count', instructions: 'count the lines' })

async function endTask(filled: Filled): Promise<void> {
  const { id } = await createTask(filled)
  const { claim } = await post<{ claim: { generation: number; session_generation: number } }>(
    filled.ben,
    `/api/v1/tasks/${id}/claim`,
    {},
  )
  const named = { claim_generation: claim.generation, session_generation: claim.session_generation }
  const evidence = [{ kind: 'text', value: 'counted' }]
  await post(filled.ben, `/api/v1/tasks/${id}/complete`, { ...named, result: '90', evidence })
}

/** The columns that are written, each an expression of `numbers` and of the copied row. */
type Own = Readonly<Record<string, string>>

function write(path: string, { conversationId }: Filled, { rows, bodyBytes }: Fill): void {
  const database = new Database(path)
  try {
    // No program reads the database in the meantime, and an interrupted fill is discarded, so no journal is
    // needed.
    for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', 'cache_size = -400000'])
      database.pragma(pragma)
    // The copied row already satisfies the constraints.
    database.pragma('ignore_check_constraints = ON')
    const last = database
      .prepare('SELECT last_sequence FROM conversations WHERE id = ?')
      .pluck()
      .get(conversationId)
    const body = `'${'All is well. '.repeat(Math.ceil(bodyBytes / 13)).slice(0, bodyBytes)}'`
    copies(database, 'messages', ["type = 'note'"], rows, {
      ...{ id: 'numbers.id', root_id: 'numbers.id', sequence: `${String(last)} + numbers.n`, body },
      ...{ created_at: 'numbers.time', first_offered_at: 'numbers.time', last_offered_at: 'numbers.time' },
      ...{ acknowledged_at: 'numbers.time', offers: '1' },
    })
    database
      .prepare('UPDATE conversations SET last_sequence = last_sequence + ? WHERE id = ?')
      .run(rows, conversationId)
    const ended = { id: 'numbers.id', created_at: 'numbers.time', updated_at: 'numbers.time' }
    copies(database, 'tasks', ["state = 'completed'"], rows, ended)
    const kinds = ['message.sent', 'task.created', 'task.claimed', 'task.completed']
    const recorded = { id: 'numbers.id', at: 'numbers.time', subject_id: 'numbers.id' }
    const ofKind = kinds.map((kind) => `kind = '${kind}'`)
    copies(database, 'audit', ofKind, rows, recorded)
    database.pragma('journal_mode = WAL')
  } finally {
    database.close()
  }
}

/** Inserts nonces whose proofs could still be accepted; stops the server for it. */
export async function addNonces({ server }: Filled, count: number): Promise<void> {
  await server.kill('SIGTERM')
  const database = new Database(join(server.data, 'bridge.db'))
  try {
    database.exec(`WITH RECURSIVE ${counted(count)} INSERT INTO nonces (credential_id, nonce, signed_at)
      SELECT 'credential ' || n % 1000, randomblob(16), unixepoch() - n % 300 FROM counted`)
  } finally {
    database.close()
  }
  await server.start()
}

const counted = (count: number) =>
  `counted (n) AS (SELECT 1 WHERE ${count} > 0 UNION ALL SELECT n + 1 FROM counted WHERE n < ${count})`

const tenDaysMs = 10 * 86_400_000

/** UUIDv7s and times in successive milliseconds after the first; every table has separate ids. */
const numbered = (count: number) => {
  const ms = `(${Date.now() - tenDaysMs} + n)`
  return `WITH RECURSIVE ${counted(count)}, numbers AS MATERIALIZED (SELECT n,
    printf('%08x-%04x-7000-8000-%012x', ${ms} >> 16, ${ms} & 65535, n) AS id,
    strftime('%Y-%m-%dT%H:%M:%fZ', ${ms} / 1000.0, 'unixepoch') AS time FROM counted)`
}

/** Inserts copies of rows that the server wrote, in turns, each with its own values in these columns. */
function copies(
  database: Database.Database,
  table: string,
  rows: readonly string[],
  count: number,
  own: Own,
): void {
  const columns = (database.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name)
  const values = columns.map((name) => own[name] ?? `one.${name}`)
  const ones = rows.map(
    (where, place) => `SELECT ${place} AS place, * FROM (SELECT * FROM ${table} WHERE ${where} LIMIT 1)`,
  )
  const { changes } = database
    .prepare(
      `${numbered(count)}, one AS MATERIALIZED (${ones.join(' UNION ALL ')})
        INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')}
        FROM numbers CROSS JOIN one ON one.place = numbers.n % ${rows.length}`,
    )
    .run()
  if (changes !== count) throw new Error(`${table}: ${changes} rows were written in place of ${count}`)
}
