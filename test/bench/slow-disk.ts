/** A disk whose every sync takes two milliseconds longer, by a preloaded library that is compiled here. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** Returns the environment that makes a process's disk slow, or a sentence if that is not possible. */
export function slowDisk(folder: string): { readonly LD_PRELOAD: string } | string {
  if (process.platform !== 'linux') return 'the slow disk is skipped: its shim is for Linux'
  const shim = join(folder, 'slow-fsync.so')
  const source = join(import.meta.dirname, 'slow-fsync.c')
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', shim, source, '-ldl'], {
    encoding: 'utf8',
  })
  if (compiled.status === 0) return { LD_PRELOAD: shim }
  const why = compiled.error === undefined ? compiled.stderr.trim() : 'there is no cc'
  return `the slow disk is skipped, its shim could not be compiled: ${why}`
}
