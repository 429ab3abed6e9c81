/**
 * Did every answer wait for the disk? Read from what all threads of the server told the system, in order.
 *
 * - The nonce of a signed request stands in a page of the write-ahead log that was written before the sync began which
 *   had ended when the answer left: so the effect that was committed with it is on disk.
 * - So does the id of a message, as its answer tells it.
 *
 * Syncs are made by SQLite or by the writer, with fsync or fdatasync, on any thread: one that is begun in one line of the
 * trace may end in a later one, and what is written in between does not count as synced by it.
 *
 * Reliability §3.1 F4.
 */
import { createHash } from 'node:crypto'
import { moments, type SystemCall, unescaped } from './system-calls.ts'

export interface CommitAudit {
  /** Answers to signed requests. */
  readonly answers: number
  /** Of these, answers that tell of a new message. */
  readonly messages: number
  readonly syncs: number
  readonly wrong: string[]
}

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const answeredMessage = new RegExp(`\\{"message":\\{"id":"(${uuid})`)

interface Request {
  readonly line: string
  /** How the nonce stands in the log. */
  readonly nonce: string
}

/** @param lines what strace wrote: see `traced-load.ts` */
export function auditCommits(lines: Iterable<string>): CommitAudit {
  const audit = new Audit()
  for (const { at, call, text } of moments(lines)) {
    if (at === 'began') audit.began(call, text)
    else audit.ended(call, text)
  }
  return audit
}

class Audit implements CommitAudit {
  answers = 0
  messages = 0
  syncs = 0
  readonly wrong: string[] = []
  readonly #requests = new Map<string, Request>()
  /** Pages in the order of their writing; so many of them each thread's sync covers; so many are on disk. */
  readonly #pages: string[] = []
  readonly #covers = new Map<string, number>()
  #durable = 0

  began({ name, path, fd, thread }: SystemCall, text: string): void {
    const isLog = path.endsWith('-wal')
    if (name.endsWith('sync') && isLog) this.#covers.set(thread, this.#pages.length)
    if (name.startsWith('write') && text.includes('"HTTP/1.1 ')) this.#answered(fd, unescaped(text))
  }

  ended({ name, path, fd, thread }: SystemCall, text: string): void {
    const isLog = path.endsWith('-wal')
    if (name === 'pwrite64' && isLog) this.#pages.push(unescaped(text))
    if (name.endsWith('sync') && isLog && text.endsWith('= 0')) this.#synced(thread)
    if (name === 'read' && path.startsWith('socket:')) this.#arrived(fd, text)
  }

  #synced(thread: string): void {
    this.syncs += 1
    this.#durable = Math.max(this.#durable, this.#covers.get(thread) ?? 0)
  }

  #arrived(fd: string, bytes: string): void {
    const [line] = /(?:GET|POST) \/api\/v1\/\S+/.exec(bytes) ?? []
    const [, nonce] = /x-bridge-nonce: ([A-Za-z0-9_-]+)/i.exec(bytes) ?? []
    if (line === undefined || nonce === undefined) return
    const digest = createHash('sha256').update(nonce).digest().subarray(0, 16)
    this.#requests.set(fd, { line, nonce: digest.toString('latin1') })
  }

  #answered(fd: string, bytes: string): void {
    const request = this.#requests.get(fd)
    this.#requests.delete(fd)
    if (request === undefined) return
    this.answers += 1
    if (!this.#isDurable(request.nonce))
      this.wrong.push(`${request.line} was answered before its nonce was synced`)
    const [, id] = answeredMessage.exec(bytes) ?? []
    if (id === undefined) return
    this.messages += 1
    if (!this.#isDurable(id)) this.wrong.push(`${id} was answered before it was synced`)
  }

  /** Looked for from the end, where it is. */
  #isDurable(text: string): boolean {
    for (let at = this.#durable - 1; at >= 0; at -= 1) if (this.#pages[at]?.includes(text)) return true
    return false
  }
}
