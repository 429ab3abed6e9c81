/**
 * A folder in which files wait, reached in a way that cannot lead out of it.
 *
 * - The folder is opened once. On Linux every name is reached through that open folder (`/proc/self/fd/N/name`), so a
 *   folder put in its place is never seen. Elsewhere the path is compared with the opened folder before and after.
 * - A name is one plain segment. Links are not followed, and nothing waits for the other end of a FIFO.
 * - What is opened is used only when it is a regular file of this user with no second name.
 *
 * Spec §4.5; nothing in the staging directory is followed out of it.
 */
import { type BigIntStats, constants, linkSync, lstatSync, statSync } from 'node:fs'
import { type FileHandle, open, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { diskRefusal, PartError, platformCode } from './part-error.ts'

/** Absent on Windows, where they are not needed: no FIFO has a name there. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_DIRECTORY = 0, O_RDONLY, O_RDWR, O_CREAT, O_EXCL } = constants

export type Access = 'read' | 'write'

export class Folder {
  readonly #path: string
  readonly #handle: FileHandle | undefined
  readonly #identity: BigIntStats
  /** The way to names; through the open folder where the platform can. */
  readonly #way: string
  readonly #isAnchored: boolean

  private constructor(path: string, handle: FileHandle | undefined, identity: BigIntStats) {
    this.#path = path
    this.#handle = handle
    this.#identity = identity
    const anchored = `/proc/self/fd/${handle?.fd}`
    this.#isAnchored = handle !== undefined && leadsTo(anchored, identity)
    this.#way = this.#isAnchored ? anchored : path
  }

  /** @throws the platform's error when it is no folder, or a link to one. */
  static async open(path: string): Promise<Folder> {
    if (process.platform === 'win32') {
      const identity = lstatSync(path, { bigint: true })
      if (!identity.isDirectory()) throw new PartError('unsafe_file')
      return new Folder(path, undefined, identity)
    }
    const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    return new Folder(path, handle, await handle.stat({ bigint: true }))
  }

  /** Tells the folder apart from every other of this machine, whatever its path. */
  get key(): string {
    return `${this.#identity.dev}:${this.#identity.ino}`
  }

  /**
   * Whether nobody but this user may put anything into it. Where a system has no owners and modes of files, what
   * protects it is its place.
   */
  async isPrivate(): Promise<boolean> {
    if (this.#handle === undefined || process.geteuid === undefined) return true
    const { uid, mode } = await this.#handle.stat()
    return uid === process.geteuid() && (mode & 0o022) === 0
  }

  /** The way to a name, for what takes paths: through the open folder where the platform can. */
  pathTo(name: string): string {
    this.#requireInPlace()
    return this.#pathOf(name)
  }

  /** A file by its name; undefined where nothing has it. @throws PartError `unsafe_file` for what must not be used. */
  async find(name: string, access: Access): Promise<FileHandle | undefined> {
    const flags = (access === 'write' ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK
    let file: FileHandle
    try {
      file = await this.#guarded(() => open(this.#pathOf(name), flags))
    } catch (error) {
      if (platformCode(error) === 'ENOENT') return undefined
      throw diskRefusal(error)
    }
    try {
      requireOwn(await file.stat({ bigint: true }), await this.identityOf(name))
      return file
    } catch (error) {
      await file.close()
      throw diskRefusal(error)
    }
  }

  /** A new file, readable by this user only. @throws PartError `unsafe_file` when anything has the name. */
  async create(name: string): Promise<FileHandle> {
    try {
      const flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
      return await this.#guarded(() => open(this.#pathOf(name), flags, 0o600))
    } catch (error) {
      throw platformCode(error) === 'EEXIST'
        ? new PartError('unsafe_file', { cause: error })
        : diskRefusal(error)
    }
  }

  /** What has the name, without following it; undefined where nothing has it. */
  async identityOf(name: string): Promise<BigIntStats | undefined> {
    return lstatSync(this.#pathOf(name), { bigint: true, throwIfNoEntry: false })
  }

  /**
   * A second name for a file, without replacing anything. Synchronous: between the decision of the caller and the name
   * nothing else runs, so that no file appears after a deadline.
   *
   * @returns false when the name is taken.
   */
  link(from: string, to: string): boolean {
    this.#requireInPlace()
    try {
      linkSync(this.#pathOf(from), this.#pathOf(to))
      return true
    } catch (error) {
      if (platformCode(error) === 'EEXIST') return false
      throw diskRefusal(error)
    }
  }

  /** Removes a name, never what a link points to. No name is no error. */
  async remove(name: string): Promise<void> {
    try {
      await this.#guarded(() => unlink(this.#pathOf(name)))
    } catch (error) {
      if (platformCode(error) !== 'ENOENT') throw diskRefusal(error)
    }
  }

  /** Names last through a power cut only when their folder is synced. Windows has no such call. */
  async sync(): Promise<void> {
    await this.#handle?.sync().catch((error: unknown) => {
      throw diskRefusal(error)
    })
  }

  /** What this user may still write, in bytes. */
  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#way)
    return bavail * bsize
  }

  async close(): Promise<void> {
    await this.#handle?.close()
  }

  #pathOf(name: string): string {
    if (!/^[ -~]{1,255}$/.test(name) || /[/\\:*?"<>|]/.test(name) || name === '.' || name === '..') {
      throw new TypeError('a name in the folder is one plain segment')
    }
    return join(this.#way, name)
  }

  async #guarded<T>(act: () => Promise<T>): Promise<T> {
    this.#requireInPlace()
    const done = await act()
    this.#requireInPlace()
    return done
  }

  #requireInPlace(): void {
    if (!this.#isAnchored && !leadsTo(this.#path, this.#identity)) throw new PartError('unsafe_file')
  }
}

/** Whether the path is this very folder, and not a link to it unless it is one of `/proc`. */
function leadsTo(path: string, identity: BigIntStats): boolean {
  const look = path.startsWith('/proc/self/fd/') ? statSync : lstatSync
  const found = look(path, { bigint: true, throwIfNoEntry: false })
  return found?.dev === identity.dev && found.ino === identity.ino && found.isDirectory()
}

/**
 * A regular file of this user with one name, and the one that the name still means.
 *
 * A second name would let somebody else change what was verified, or lead to a file outside.
 */
function requireOwn(opened: BigIntStats, named: BigIntStats | undefined): void {
  const isNamed = named !== undefined && isSameFile(opened, named)
  const isMine = process.geteuid === undefined || opened.uid === BigInt(process.geteuid())
  if (!opened.isFile() || !isMine || opened.nlink !== 1n || !isNamed) throw new PartError('unsafe_file')
}

export const isSameFile = (a: BigIntStats, b: BigIntStats): boolean => a.dev === b.dev && a.ino === b.ino
