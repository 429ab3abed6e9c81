/**
 * Writers on a server that is killed repeatedly, and the faults found afterwards.
 *
 * Each round waits for some answers, then for a random time, kills the process, checks the store as the crash
 * left it, and starts the server again. In every fifth round the clients are killed too. At the end every
 * open key is repeated, every inbox is read to its end, and the history is checked.
 *
 * Reliability §3.1 F1, F16.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { chanceFrom } from '../../support/chance.ts'
import { checkStore } from '../../support/invariants.ts'
import { setUpOwner, type TestOwner } from '../../support/owner.ts'
import { type ProcessOptions, type ServerProcess, startServerProcess } from '../../support/process.ts'
import { withStoreCopy } from '../../support/store-copy.ts'
import type { TestStore } from '../../support/test-store.ts'
import { Crew, enlist } from './crew.ts'
import { type AuditRecord, checkHistory, type Operation, type Run, type StoredMessage } from './history.ts'
import type { StoredTask } from './task-effects.ts'

/** Name of the error of a server whose database has forgotten a write. */
export const forgotten = 'DatabaseForgotError'

/** Ends the server process by SIGKILL at a chosen moment; resolves when it has exited. */
export type Strike = (server: ServerProcess) => Promise<unknown>

export interface KillOptions {
  /** One per round. */
  readonly strikes: readonly Strike[]
  readonly writers: number
  readonly seed: number
  /** The number of answers that each round waits for. */
  readonly answers: number
  /** After the last kill, the writers work until each of these operations was answered at least once. */
  readonly kinds?: readonly Operation['op'][]
  readonly control?: ProcessOptions['control']
}

/** Returns this many kills, each within 150 ms after the answers that its round waits for. */
export function atRandom(kills: number, seed: number): Strike[] {
  const chance = chanceFrom(seed)
  return Array.from({ length: kills }, () => async (server: ServerProcess) => {
    await delay(chance() * 150)
    await server.kill('SIGKILL')
  })
}

export interface KillReport {
  readonly wrong: string[]
  readonly operations: readonly Operation[]
}

export async function killRepeatedly(options: KillOptions): Promise<KillReport> {
  const server = await startServerProcess()
  let crew: Crew | undefined
  try {
    const owner = await setUpOwner(server.url, server.setupLink)
    const specs = await enlist(owner, { count: options.writers, folder: server.folder, seed: options.seed })
    if (options.control) {
      await server.kill('SIGTERM')
      await server.start({ control: options.control })
    }
    crew = new Crew(server.url, specs)
    const wrong = await killRounds(server, crew, options)
    await orRefused(server, answeredEach(crew, options.kinds ?? []))
    await orRefused(server, crew.drain())
    const conversations = await readConversations(owner, crew)
    await server.kill('SIGTERM')
    const { found, ...stored } = withStoreCopy(server.data, readStore)
    const run: Run = { operations: crew.operations(), conversations, ...stored }
    wrong.push(...found, ...checkHistory(run))
    if (server.errors !== '') wrong.push(`the server wrote to its log: ${server.errors}`)
    return { wrong, operations: run.operations }
  } finally {
    await crew?.close()
    await server.close()
  }
}

/**
 * Waits for the writers. On PostgreSQL a server stops serving when it finds that its database forgot a write. Its
 * writers would then wait without an end.
 *
 * @throws with the log of such a server
 */
async function orRefused(server: ServerProcess, work: Promise<unknown>): Promise<void> {
  let isOver = false
  const refusal = async (): Promise<void> => {
    while (!isOver) {
      if (server.errors.includes(forgotten)) throw new Error(`the server stopped serving: ${server.errors}`)
      await delay(100)
    }
  }
  const working = work.finally(() => {
    isOver = true
  })
  working.catch(() => {})
  try {
    await Promise.race([working, refusal()])
    await working
  } finally {
    isOver = true
  }
}

async function killRounds(
  server: ServerProcess,
  crew: Crew,
  { strikes, answers }: KillOptions,
): Promise<string[]> {
  const wrong: string[] = []
  for (const [index, strike] of strikes.entries()) {
    const round = index + 1
    await orRefused(server, crew.answers(answers))
    await strike(server)
    if (round % 5 === 0) await crew.killAndBeginAgain()
    const found = withStoreCopy(server.data, checkStore)
    wrong.push(...found.map((sentence) => `after kill ${round}: ${sentence}`))
    await server.start()
    crew.serverStarted()
  }
  return wrong
}

async function answeredEach(crew: Crew, kinds: readonly Operation['op'][]): Promise<void> {
  const isAnswered = (kind: string) =>
    crew.operations().some(({ op, outcome }) => op === kind && outcome === 'ok')
  while (!kinds.every(isAnswered)) await crew.answers(20)
}

/** Reads the conversations of the writers through the public API. */
export function readConversations(owner: TestOwner, crew: Crew): Promise<Map<string, StoredMessage[]>> {
  const projectId = crew.specs[0]?.enrolled.project.id ?? ''
  const ids = crew.specs.map(({ conversationId }) => conversationId)
  return readAllOf(owner, projectId, ids)
}

/** Reads these conversations of a project through the public API. */
export async function readAllOf(
  owner: TestOwner,
  projectId: string,
  ids: readonly string[],
): Promise<Map<string, StoredMessage[]>> {
  const conversations = new Map<string, StoredMessage[]>()
  for (const id of new Set(ids)) conversations.set(id, await readConversation(owner, projectId, id))
  return conversations
}

/**
 * Reads everything in one transaction: a running server expires claims, and a task could then differ from its
 * records.
 */
function readStore(store: TestStore) {
  const audit = store
    .prepare<{ kind: string; subject_id: string | null; at: string; details: string }>(
      'SELECT kind, subject_id, at, details FROM audit ORDER BY id',
    )
    .all()
    .map(({ details, ...record }): AuditRecord => ({ ...record, details: JSON.parse(details) }))
  const tasks = store
    .prepare<StoredTask>(
      `SELECT id, title, state, conversation_id, claim_generation AS generation, outcome_result AS result,
        claim_ttl_seconds, cancel_requested_at, stop_confirmed_at FROM tasks`,
    )
    .all()
  return { found: checkStore(store), audit, tasks }
}

interface HistoryPage {
  readonly messages: StoredMessage[]
  readonly has_more: boolean
  readonly next_sequence: number
}

/** Reads the complete history through the public API. */
async function readConversation(owner: TestOwner, projectId: string, id: string): Promise<StoredMessage[]> {
  const all: StoredMessage[] = []
  for (let after = 0, more = true; more; ) {
    const target = `/api/admin/projects/${projectId}/conversations/${id}/messages?after_sequence=${after}`
    const page = await owner.ok<HistoryPage>({ target })
    all.push(...page.messages)
    after = page.next_sequence
    more = page.has_more
  }
  return all
}
