/** A server under load and strace: its system calls, and its store before them. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { databasePath } from '../../../server/storage/data-folder.ts'
import { setUpOwner } from '../../support/owner.ts'
import { type ProcessOptions, startServerProcess } from '../../support/process.ts'
import { attach } from '../../support/strace.ts'
import { Crew, enlist } from './crew.ts'

export interface TracedLoad {
  /** The file that strace wrote: all threads, with paths and complete buffers. */
  readonly trace: string
  /** A folder with the store at the time when strace started. */
  readonly base: string
}

export interface LoadOptions extends ProcessOptions {
  /** Rewrites the file and truncates the WAL half-way, during the load. */
  readonly scrubs?: boolean
}

/** The system calls that the checks of the load need. */
const followed = [
  ...['read', 'write', 'writev', 'pwrite64', 'fsync', 'fdatasync'],
  ...['ftruncate', 'unlink', 'unlinkat', 'rename', 'renameat', 'renameat2'],
]

/** The files of the load exist until `look` returns. */
export async function tracedLoad<T>(
  answers: number,
  { scrubs = false, ...options }: LoadOptions,
  look: (load: TracedLoad) => T,
): Promise<T> {
  const server = await startServerProcess()
  const { folder, data } = server
  const trace = join(folder, 'trace')
  const base = join(folder, 'base')
  let crew: Crew | undefined
  try {
    const owner = await setUpOwner(server.url, server.setupLink)
    const gone = await owner.createProject('gone')
    const specs = await enlist(owner, { count: 8, folder, seed: 1 })
    await server.kill('SIGTERM')
    await server.start(options)
    const tracer = await attach(server.pid, [
      ...['-y', '-s', '65536', '-e', `trace=${followed.join(',')}`, '-o', trace],
    ])
    mkdirSync(base)
    for (const suffix of ['', '-wal']) copyFileSync(databasePath(data) + suffix, databasePath(base) + suffix)
    crew = new Crew(server.url, specs)
    await crew.answers(Math.ceil(answers / 2))
    if (scrubs) await owner.deleteProject(gone.id, gone.name)
    await crew.answers(Math.ceil(answers / 2))
    await tracer.detach()
    await crew.close()
    await server.kill()
    return look({ trace, base })
  } finally {
    await crew?.close()
    await server.close()
  }
}
