/**
 * A node whose store holds so many rows: two agents that have talked for long, have ended tasks, and an audit of it all.
 *
 * Rows are copied behind the back of a server that is stopped, each with an id and a time of its own ten days ago, in the
 * order in which a node would have written them.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { setUpOwner, type TestOwner } from '../../support/owner.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'

export interface Filled {
  readonly server: ServerProcess
  readonly owner: TestOwner
  readonly projectId: string
  readonly ada: TestAgent
  readonly ben: TestAgent
  readonly conversationId: string
}

export interface Fill {
  /** Messages, tasks and audit records: so many of each. */
  readonly rows: number
  /** Bytes of a message's body. */
  readonly bodyBytes: number
  /** Nonces whose proofs could still be accepted. */
  readonly nonces: number
}

export async function startFilled(fill: Fill): Promise<Filled> {
  const server = await startServerProcess()
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

const tenDaysMs = 10 * 86_400_000

function write(path: string, filled: Filled, { rows, bodyBytes, nonces }: Fill): void {
  const database = new Database(path)
  try {
    // Nobody reads it meanwhile, and the measurement begins after it is folded and closed.
    for (const pragma of ['synchronous = OFF', 'cache_size = -400000', 'wal_autocheckpoint = 50000'])
      database.pragma(pragma)
    database.function('id_of', { deterministic: true }, idOf(Date.now() - tenDaysMs))
    database.function('time_of', { deterministic: true }, (n) =>
      new Date(Date.now() - tenDaysMs + Number(n)).toISOString(),
    )
    const { conversationId } = filled
    const last = database
      .prepare('SELECT last_sequence FROM conversations WHERE id = ?')
      .pluck()
      .get(conversationId)
    const body = `'${'All is well. '.repeat(Math.ceil(bodyBytes / 13)).slice(0, bodyBytes)}'`
    const time = 'time_of(n)'
    copies(database, 'messages', "type = 'note'", rows, {
      ...{ id: 'id_of(n)', root_id: 'id_of(n)', sequence: `${String(last)} + n`, body },
      ...{
        created_at: time,
        first_offered_at: time,
        last_offered_at: time,
        acknowledged_at: time,
        offers: '1',
      },
    })
    database
      .prepare('UPDATE conversations SET last_sequence = last_sequence + ? WHERE id = ?')
      .run(rows, conversationId)
    copies(database, 'tasks', "state = 'completed'", rows, {
      id: 'id_of(n)',
      created_at: time,
      updated_at: time,
    })
    for (const [index, kind] of [
      'message.sent',
      'task.created',
      'task.claimed',
      'task.completed',
    ].entries()) {
      const each = Math.floor(rows / 4)
      const n = `(n * 4 + ${index})`
      copies(database, 'audit', `kind = '${kind}'`, each, {
        id: `id_of${n}`,
        at: `time_of${n}`,
        subject_id: `id_of${n}`,
      })
    }
    database.exec(`${numbers(nonces)} INSERT INTO nonces (credential_id, nonce, signed_at)
      SELECT 'credential ' || n % 1000, randomblob(16), unixepoch() - n % 300 FROM numbers`)
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}

const numbers = (count: number) =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 WHERE ${count} > 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`

/** Copies of one row that the server wrote, each with these columns of its own. */
function copies(
  database: Database.Database,
  table: string,
  where: string,
  count: number,
  own: Readonly<Record<string, string>>,
): void {
  const columns = (database.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name)
  const values = columns.map((name) => own[name] ?? `one.${name}`)
  const { changes } = database
    .prepare(
      `${numbers(count)} INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')}
        FROM (SELECT * FROM ${table} WHERE ${where} LIMIT 1) AS one, numbers`,
    )
    .run()
  if (changes !== count) throw new Error(`${table}: ${changes} rows were written in place of ${count}`)
}

/** A UUIDv7 of so many milliseconds after the first; every table has ids of its own. */
const idOf =
  (firstMs: number) =>
  (n: unknown): string => {
    const time = (firstMs + Number(n)).toString(16).padStart(12, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${Number(n).toString(16).padStart(12, '0')}`
  }
