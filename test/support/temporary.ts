/**
 * The temporary folders of a run: one on the disk, one in memory.
 *
 * A commit in memory costs half the processor time of one on the disk. Tests of crashes and disks stay on the
 * disk.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Temporary {
  readonly disk: string
  /** The folder on the disk, if the machine has no memory for files. */
  readonly memory: string
}

/** Files in memory on Linux. Containers often have 64 MiB of it, and some forbid to run programs there. */
const sharedMemory = '/dev/shm'
/** Four workers use less than half of it. */
const enoughBytes = 4 * 1024 ** 3

/** If TMPDIR is set, all files lie in that folder. */
export function makeTemporary(): Temporary {
  const disk = folderIn(tmpdir())
  return { disk, memory: (process.env.TMPDIR === undefined && inMemory()) || disk }
}

function inMemory(): string | undefined {
  try {
    removeAbandoned()
    const { bavail, bsize } = statfsSync(sharedMemory)
    if (bavail * bsize < enoughBytes) return undefined
    const folder = folderIn(sharedMemory)
    if (runsPrograms(folder)) return folder
    rmSync(folder, { recursive: true })
  } catch {
    // The folder is missing or not writable.
  }
  return undefined
}

/**
 * Removes the folders of killed runs, which would use memory until the machine restarts. A run in another
 * container has a process that cannot be seen from here, so a folder in use within the last hour stays.
 */
function removeAbandoned(): void {
  for (const name of readdirSync(sharedMemory)) {
    const [, pid] = /^bridge-tests-(\d+)-/.exec(name) ?? []
    const path = join(sharedMemory, name)
    if (pid === undefined || isAlive(Number(pid))) continue
    try {
      if (Date.now() - statSync(path).mtimeMs > 3_600_000) rmSync(path, { recursive: true })
    } catch {
      // Another run has removed it, or it belongs to another user.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Makes a folder that is open to all, because some tests start programs as another user. */
function folderIn(parent: string): string {
  const folder = mkdtempSync(join(parent, `bridge-tests-${process.pid}-`))
  chmodSync(folder, 0o755)
  return folder
}

function runsPrograms(folder: string): boolean {
  const program = join(folder, 'program')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
  try {
    execFileSync(program)
    return true
  } catch {
    return false
  } finally {
    rmSync(program)
  }
}
