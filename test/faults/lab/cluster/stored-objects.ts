/** Objects of a store that lie in a folder, so that they survive a killed process. */
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { StoredObject } from '../../../support/object-store.ts'

/** The end of a file that is not whole. No encoded key ends like this. */
const partly = '%part'

export class StoredObjects extends Map<string, StoredObject> {
  readonly #folder: string

  /** Reads what an earlier process has stored. */
  constructor(folder: string) {
    super()
    this.#folder = folder
    for (const name of readdirSync(folder))
      if (!name.endsWith(partly)) super.set(decodeURIComponent(name), storedAt(join(folder, name)))
  }

  override set(key: string, { bytes }: StoredObject): this {
    const path = this.#pathOf(key)
    writeFileSync(path + partly, bytes, { flush: true })
    renameSync(path + partly, path)
    this.#flush()
    return super.set(key, storedAt(path))
  }

  override delete(key: string): boolean {
    rmSync(this.#pathOf(key), { force: true })
    this.#flush()
    return super.delete(key)
  }

  #pathOf(key: string): string {
    return join(this.#folder, encodeURIComponent(key))
  }

  /** Keeps the names of the files over a power cut. */
  #flush(): void {
    const folder = openSync(this.#folder, 'r')
    fsyncSync(folder)
    closeSync(folder)
  }
}

/** The bytes stay in the file until they are read. */
const storedAt = (path: string): StoredObject => ({
  get bytes() {
    return readFileSync(path)
  },
  changedAt: statSync(path).mtime,
})
