/**
 * Small private files of the hooks, read and replaced synchronously: a hook is a short process.
 *
 * A missing or damaged file counts as absent. Losing one costs a repeated notice, never a message, so no write
 * is synced.
 */
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

export function readObject(path: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** Replaces a file atomically. */
export function replaceObject(path: string, value: object): void {
  const draft = `${path}.${process.pid}.tmp`
  makeFolder(dirname(path))
  try {
    writeFileSync(draft, JSON.stringify(value), { mode: 0o600 })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** Creates a private folder and its missing parents, one level at a time. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || dirname(path) === path) throw error
    makeFolder(dirname(path))
    mkdirSync(path, { mode: 0o700 })
  }
}

export const removeFile = (path: string): void => rmSync(path, { force: true })

/** Sets the modification time of a file, which is created if it is missing. */
export function touch(path: string, at: Date): void {
  try {
    utimesSync(path, at, at)
  } catch {
    makeFolder(dirname(path))
    writeFileSync(path, '', { mode: 0o600 })
    chmodSync(path, 0o600)
    utimesSync(path, at, at)
  }
}

/** Modification time in milliseconds, or undefined without the file. */
export const touchedAt = (path: string): number | undefined =>
  statSync(path, { throwIfNoEntry: false })?.mtimeMs
