/**
 * Checks that every answer waited for the disk, from the ordered system calls of all threads of the server.
 *
 * - The nonce of a signed request is in a WAL page that was written before a sync began, and that sync
 *   ended before the answer was sent. The effect was committed together with the nonce, so it is durable.
 * - The same applies to the id of a message in an answer.
 *
 * SQLite or the writer makes the syncs, with fsync or fdatasync, on any thread. A sync may begin on one line
 * of the trace and end on a later one; it does not cover writes in between.
 *
 * Reliability §3.1 F4.
 */
import { createHash } from 'node:crypto'
import { moments, type SystemCall, unescaped } from './system-calls.ts'

export interface CommitAudit {
  /** The number of answers to signed requests. */
  readonly answers: number
  /** The number of these that contain a new message. */
  readonly messages: number
  readonly syncs: number
  readonly wrong: string[]
}

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const answeredMessage = new RegExp(`\\{"message":\\{"id":"(${uuid})`)

interface Request {
  readonly line: string
  /** The nonce in the form in which the WAL contains it. */
  readonly nonce: string
}

/** @param lines the output of strace: see `traced-load.ts` */
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
  /**
   * Pages in the order of their writes, the number of pages that each thread's sync covers, and the number of
   * durable pages.
   */
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

  /** Searches from the end, because the text is near it. */
  #isDurable(text: string): boolean {
    for (let at = this.#durable - 1; at >= 0; at -= 1) if (this.#pages[at]?.includes(text)) return true
    return false
  }
}
