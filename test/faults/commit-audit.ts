/**
 * Did every answer wait for the disk? Read from what the main thread told the system, in order.
 *
 * - When an answer leaves, nothing of the write-ahead log is written and not yet synced.
 * - Between the arrival of a signed request and its answer the log was synced: it holds the nonce and the effect.
 * - The id of a message, as its answer tells it, stands in a page of the log that was synced before.
 *
 * SQLite syncs with fsync or fdatasync, as it was built.
 *
 * Reliability §3.1 F4.
 */
export interface CommitAudit {
  /** Answers to signed requests. */
  readonly answers: number
  /** Of these, answers that tell of a new message. */
  readonly messages: number
  readonly syncs: number
  readonly wrong: string[]
}

/** The system calls that the audit needs, as options of strace. */
export const auditOptions = [
  '-ff',
  '-y',
  '-s',
  '8192',
  '-e',
  'trace=read,write,writev,pwrite64,fsync,fdatasync',
]

const call = /^(read|write|writev|pwrite64|fsync|fdatasync)\((\d+)<([^>]*)>(.*)$/
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const messageIds = new RegExp(`(${uuid})`, 'g')
const answeredMessage = new RegExp(`\\{\\\\"message\\\\":\\{\\\\"id\\\\":\\\\"(${uuid})`)

interface Request {
  readonly line: string
  synced: boolean
}

export function auditCommits(trace: string): CommitAudit {
  const audit = new Audit()
  for (const line of trace.split('\n')) {
    const [, name, fd = '', path = '', rest = ''] = call.exec(line) ?? []
    if (name === 'pwrite64' && path.endsWith('-wal')) audit.logged(rest)
    else if (name?.endsWith('sync') && path.endsWith('-wal')) audit.synced(rest)
    else if (name === 'read' && path.startsWith('socket:')) audit.arrived(fd, rest)
    else if (name?.startsWith('write') && rest.includes('"HTTP/1.1 ')) audit.answered(fd, rest)
  }
  return audit
}

class Audit implements CommitAudit {
  answers = 0
  messages = 0
  syncs = 0
  readonly wrong: string[] = []
  readonly #requests = new Map<string, Request>()
  readonly #durable = new Set<string>()
  #unsynced: string[] = []

  logged(page: string): void {
    this.#unsynced.push(...(page.match(messageIds) ?? []), '')
  }

  synced(result: string): void {
    if (!result.endsWith('= 0')) return
    this.syncs += 1
    for (const id of this.#unsynced) this.#durable.add(id)
    this.#unsynced = []
    for (const request of this.#requests.values()) request.synced = true
  }

  arrived(fd: string, bytes: string): void {
    const [line] = /(?:GET|POST) \/api\/v1\/\S+/.exec(bytes) ?? []
    if (line !== undefined) this.#requests.set(fd, { line, synced: false })
  }

  answered(fd: string, bytes: string): void {
    const request = this.#requests.get(fd)
    this.#requests.delete(fd)
    if (request === undefined) return
    this.answers += 1
    if (this.#unsynced.length > 0)
      this.wrong.push(`${request.line} was answered while the log was not synced`)
    if (!request.synced) this.wrong.push(`${request.line} was answered with no sync since it arrived`)
    const [, id] = answeredMessage.exec(bytes) ?? []
    if (id === undefined) return
    this.messages += 1
    if (!this.#durable.has(id)) this.wrong.push(`${id} was answered and in no page that was synced`)
  }
}
