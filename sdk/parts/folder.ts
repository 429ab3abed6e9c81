/**
 * Staging folder, accessed so that no link and no exchanged folder can lead out of it.
 *
 * - The folder is opened once. On Linux every name is accessed through that handle (`/proc/self/fd/N/name`),
 *   so a folder put in its place is never used. On other systems the path is compared with the opened folder
 *   before and after each access.
 * - A name is one plain path segment. Links are not followed, and opening a FIFO does not block.
 * - A file is used only if it is a regular file of this user with a single name (one hard link).
 *
 * Spec §4.5; nothing in the staging directory is followed out of it.
 */
import { type BigIntStats, constants, linkSync, lstatSync, statSync } from 'node:fs'
import { type FileHandle, open, readdir, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { diskRefusal, PartError, platformCode } from './part-error.ts'

/** Windows lacks some of these flags and does not need them: it has no FIFOs in folders. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_DIRECTORY = 0, O_RDONLY, O_RDWR, O_CREAT, O_EXCL } = constants

export type Access = 'read' | 'write'

export class Folder {
  readonly #path: string
  readonly #handle: FileHandle | undefined
  readonly #identity: BigIntStats
  /** Prefix of the paths to names: through the folder's handle if the platform supports it. */
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

  /** @throws the platform's error if the path is not a folder, or is a link to one. */
  static async open(path: string): Promise<Folder> {
    if (process.platform === 'win32') {
      const identity = lstatSync(path, { bigint: true })
      if (!identity.isDirectory()) throw new PartError('unsafe_file')
      return new Folder(path, undefined, identity)
    }
    const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    return new Folder(path, handle, await handle.stat({ bigint: true }))
  }

  /** Identifies the folder on this machine, independent of its path. */
  get key(): string {
    return `${this.#identity.dev}:${this.#identity.ino}`
  }

  /**
   * Returns true if only this user may create files in the folder. On a system without file owners and modes
   * it is always true, and the folder's location must protect it.
   */
  async isPrivate(): Promise<boolean> {
    if (this.#handle === undefined || process.geteuid === undefined) return true
    const { uid, mode } = await this.#handle.stat()
    return uid === process.geteuid() && (mode & 0o022) === 0
  }

  /** Returns the path of a name, through the folder's handle if the platform supports it. */
  pathTo(name: string): string {
    this.#requireInPlace()
    return this.#pathOf(name)
  }

  /**
   * Opens a file by its name, or returns undefined if it does not exist.
   *
   * @throws PartError `unsafe_file` for a link or another file that must not be used.
   */
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

  /** Creates a file with mode 0600. @throws PartError `unsafe_file` if the name exists. */
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

  /** Returns the names of everything in the folder. */
  async names(): Promise<string[]> {
    return this.#guarded(() => readdir(this.#way))
  }

  /** Returns the stat of a name without following links, or undefined if it does not exist. */
  async identityOf(name: string): Promise<BigIntStats | undefined> {
    return lstatSync(this.#pathOf(name), { bigint: true, throwIfNoEntry: false })
  }

  /**
   * Adds a second name to a file (a hard link), without replacing an existing one. It is synchronous, so that
   * no other code runs between the caller's check of a deadline and the new name.
   *
   * @returns false if the name is taken.
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

  /** Removes a name, but not the target of a link. A missing name is not an error. */
  async remove(name: string): Promise<void> {
    try {
      await this.#guarded(() => unlink(this.#pathOf(name)))
    } catch (error) {
      if (platformCode(error) !== 'ENOENT') throw diskRefusal(error)
    }
  }

  /** Syncs the folder, which makes its names durable. Windows has no such call. */
  async sync(): Promise<void> {
    await this.#handle?.sync().catch((error: unknown) => {
      throw diskRefusal(error)
    })
  }

  /** Returns the free bytes of the disk for this user. */
  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#way)
    return bavail * bsize
  }

  async close(): Promise<void> {
    await this.#handle?.close()
  }

  #pathOf(name: string): string {
    if (!/^[ -~]{1,255}$/.test(name) || /[/\\:*?"<>|]/.test(name) || name === '.' || name === '..') {
      throw new TypeError('a name in the folder must be one plain path segment')
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

/** Returns true if the path is this folder itself. A link to it does not count, except the link in `/proc`. */
function leadsTo(path: string, identity: BigIntStats): boolean {
  const look = path.startsWith('/proc/self/fd/') ? statSync : lstatSync
  const found = look(path, { bigint: true, throwIfNoEntry: false })
  return found?.dev === identity.dev && found.ino === identity.ino && found.isDirectory()
}

/**
 * Checks that the opened file is a regular file of this user with one name, and that the name still refers to
 * it.
 *
 * Through a second name another user could change a verified file, or the name could refer to a file outside.
 */
function requireOwn(opened: BigIntStats, named: BigIntStats | undefined): void {
  const isNamed = named !== undefined && isSameFile(opened, named)
  const isMine = process.geteuid === undefined || opened.uid === BigInt(process.geteuid())
  if (!opened.isFile() || !isMine || opened.nlink !== 1n || !isNamed) throw new PartError('unsafe_file')
}

export const isSameFile = (a: BigIntStats, b: BigIntStats): boolean => a.dev === b.dev && a.ino === b.ino
