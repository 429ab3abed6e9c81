/**
 * Power cuts at any moment in the trace of a running server. The program opens the resulting disk, which must
 * be valid and contain everything that was answered.
 *
 * - An answer counts from the start of the call that sends it.
 * - Its nonce must be spent. If its request had a key, the stored answer must equal the sent one, which
 *   shows that the effect is stored too (`invariants.ts` defines the rows that belong to an answer).
 *
 * Reliability §1 P1 and P2, §3.1 F3.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../../server/database/sqlite/open.ts'
import { databasePath } from '../../../server/storage/data-folder.ts'
import { type Chance, chanceFrom, pick } from '../../support/chance.ts'
import { checkStore } from '../../support/invariants.ts'
import { CutFile, type Kept } from './cut-disk.ts'
import { linesOf, type Moment, moments, quotedBytes, resultOf, unescaped } from './system-calls.ts'

export interface CutOptions {
  /** The file that strace wrote. */
  readonly trace: string
  /** A folder with the store at the time when strace started. */
  readonly base: string
  readonly cuts: number
  readonly seed: number
  /** The file whose syncs this disk reports as done without making them. */
  readonly unsyncedFile?: '' | '-wal'
}

export interface CutReport {
  /** The number of disks that were opened. */
  readonly disks: number
  /** The number of answers sent by the last cut, and of those with an effect. */
  readonly told: number
  readonly effects: number
  /** The number of cuts during a checkpoint. */
  readonly inFoldings: number
  /** The number of cuts after which the WAL may or may not have its old length again. */
  readonly atCutOffs: number
  /** Disks that lost data or are invalid, each with its faults. */
  readonly wrong: string[]
}

/** The calls by which SQLite changes its files. */
const changes = new Set(['pwrite64', 'ftruncate'])

const ways: readonly Kept[] = ['none', 'writes', 'sectors', 'all']

export function cutPower(options: CutOptions): CutReport {
  const chance = chanceFrom(options.seed)
  const planned = plan(options, chance)
  const machine = new Machine(options)
  const report = { disks: 0, told: 0, effects: 0, inFoldings: 0, atCutOffs: 0, wrong: [] as string[] }
  let now = 0
  for (const moment of moments(linesOf(options.trace))) {
    for (; planned[0] === now; planned.shift()) {
      if (machine.isFolding) report.inFoldings += 1
      if (machine.isCutOff) report.atCutOffs += 1
      report.told = machine.told.length
      report.effects = machine.told.filter(({ answer }) => answer !== undefined).length
      for (const kept of ways) {
        report.disks += 1
        const found = machine.cut(kept, chance)
        if (found.length > 0)
          report.wrong.push(`cut ${now}, kept ${kept}: ${found.slice(0, 3).join('; ')} (${found.length})`)
      }
    }
    machine.take(moment)
    now += 1
  }
  return report
}

/**
 * Plans the moments of the cuts, the same number of each kind: after answers, during writes to the file,
 * after the WAL was truncated (each until the next sync), and anywhere.
 */
function plan({ trace, base, cuts }: CutOptions, chance: Chance): number[] {
  const file = databasePath(base).slice(base.length)
  const answers: number[] = []
  const foldings: number[] = []
  const cutOffs: number[] = []
  let isFolding = false
  let isCutOff = false
  let count = 0
  for (const { at, call, text } of moments(linesOf(trace))) {
    count += 1
    const isSynced = at === 'ended' && call.name.endsWith('sync')
    if (call.path.endsWith(file)) isFolding = !isSynced && (isFolding || changes.has(call.name))
    if (call.path.endsWith(`${file}-wal`)) isCutOff = !isSynced && (isCutOff || call.name === 'ftruncate')
    if (isFolding) foldings.push(count)
    if (isCutOff) cutOffs.push(count)
    if (isAnswer(call.name, text)) answers.push(count)
  }
  const any = () => Math.floor(chance() * count)
  const chosen = Array.from(
    { length: cuts },
    (_, index) => pick(chance, [answers, foldings, cutOffs, []][index % 4] ?? []) ?? any(),
  )
  return [...new Set(chosen)].sort((one, other) => one - other)
}

const isAnswer = (name: string, text: string): boolean =>
  name.startsWith('write') && text.includes('"HTTP/1.1 ')

interface Told {
  readonly what: string
  readonly nonce: string
  /** The answer to a successful request with a key. */
  readonly answer: { readonly key: string; readonly body: string } | undefined
}

interface Asked extends Omit<Told, 'answer'> {
  readonly key: string | undefined
}

/** The server's machine: its two files, and the answers that were sent. */
class Machine {
  readonly told: Told[] = []
  readonly #asked = new Map<string, Asked>()
  readonly #files: Readonly<Record<string, CutFile>>
  readonly #ignored: string | undefined
  #writing: CutFile | undefined
  /** The number of operations that the running sync of each thread covers. */
  readonly #covers = new Map<string, number>()

  constructor({ base, unsyncedFile }: CutOptions) {
    const path = databasePath(base)
    this.#files = { '': new CutFile(readFileSync(path)), '-wal': new CutFile(readFileSync(`${path}-wal`)) }
    this.#ignored = unsyncedFile
  }

  get isCutOff(): boolean {
    return this.#files['-wal']?.isCutOff === true
  }

  get isFolding(): boolean {
    return (this.#files['']?.unsynced ?? 0) > 0
  }

  take({ at, call, text }: Moment): void {
    const { thread, name, path, fd } = call
    if (/^(?:unlink|rename)/.test(name) && /bridge\.db(?:-wal)?"/.test(text))
      throw new Error(`the store's files are not to be replaced while it runs: ${name}${text}`)
    const [, suffix] = /\/bridge\.db(|-wal)$/.exec(path) ?? []
    const file = suffix === undefined ? undefined : this.#files[suffix]
    if (file !== undefined && suffix !== this.#ignored && name.endsWith('sync'))
      this.#sync(file, at, thread, text)
    if (file !== undefined && changes.has(name)) this.#write(file, at, name, text)
    if (name === 'read' && at === 'ended' && path.startsWith('socket:')) this.#arrived(fd, text)
    if (isAnswer(name, text) && at === 'began') this.#answered(fd, unescaped(text))
  }

  /** A sync does not cover a write that is in progress when it begins. Only one thread writes. */
  #sync(file: CutFile, at: Moment['at'], thread: string, text: string): void {
    if (at === 'began') this.#covers.set(thread, file.count - (file === this.#writing ? 1 : 0))
    else if (resultOf(text) === 0) file.synced(this.#covers.get(thread) ?? 0)
  }

  #write(file: CutFile, at: Moment['at'], name: string, text: string): void {
    this.#writing = at === 'began' ? file : undefined
    const [, length = '0'] =
      name === 'pwrite64' ? (/, (\d+), \d+(?:\)| <)[^"]*$/.exec(text.slice(-200)) ?? []) : []
    if (at === 'ended') {
      if (resultOf(text) === Number(length)) return
      throw new Error(`only writes that succeed are understood: ${name}${text.slice(-80)}`)
    }
    const [, number] = /, (\d+)(?:\)| <\w+ \.\.\.>)[^"]*$/.exec(text.slice(-200)) ?? []
    if (name === 'ftruncate') file.truncate(Number(number))
    else file.write(Number(number), quotedBytes(text))
  }

  #arrived(fd: string, text: string): void {
    const [what] = /(?:GET|POST) \/api\/v1\/\S+/.exec(text) ?? []
    const [, nonce] = /x-bridge-nonce: ([A-Za-z0-9_-]+)/i.exec(text) ?? []
    const [, key] = /idempotency-key: ([A-Za-z0-9_:.-]+)/i.exec(text) ?? []
    if (what === undefined || nonce === undefined) return
    const digest = createHash('sha256').update(nonce).digest('hex').slice(0, 32)
    this.#asked.set(fd, { what, nonce: digest, key })
  }

  #answered(fd: string, text: string): void {
    const asked = this.#asked.get(fd)
    this.#asked.delete(fd)
    if (asked === undefined) return
    const { key, ...rest } = asked
    const [, body] = /^[^"]*"HTTP\/1\.1 200 .*?\r\n\r\n(.*)"[^"]*$/s.exec(text) ?? []
    const answer =
      key === undefined || body === undefined
        ? undefined
        : { key, body: Buffer.from(body, 'latin1').toString('utf8') }
    this.told.push({ ...rest, answer })
  }

  /** Cuts the power; returns the faults of the resulting disk. */
  cut(kept: Kept, chance: Chance): string[] {
    const folder = mkdtempSync(join(tmpdir(), 'bridge-cut-'))
    const path = databasePath(folder)
    try {
      for (const [suffix, file] of Object.entries(this.#files))
        writeFileSync(path + suffix, file.cut(kept, chance), { mode: 0o600 })
      return this.#lookAt(path)
    } catch (error) {
      return [`it cannot be opened: ${String(error)}`]
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  #lookAt(path: string): string[] {
    const database = openDatabase(path)
    try {
      const spent = new Set(
        database.prepare<[], string>('SELECT lower(hex(nonce)) FROM nonces').pluck().all(),
      )
      const answers = new Set(
        database.prepare<[], string>("SELECT key || ' ' || answer FROM idempotency").pluck().all(),
      )
      const lost = this.told.flatMap(({ what, nonce, answer }) => [
        ...(spent.has(nonce) ? [] : [`the nonce of ${what} is lost`]),
        ...(answer === undefined || answers.has(`${answer.key} ${answer.body}`)
          ? []
          : [`${what} ${answer.key} is lost`]),
      ])
      return [...lost, ...checkStore(database)]
    } finally {
      database.close()
    }
  }
}
