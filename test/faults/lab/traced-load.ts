/** A server at work under strace: what it told the system, and its store as it was before. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { databasePath } from '../../../server/host/data-folder.ts'
import { setUpOwner } from '../../support/owner.ts'
import { type ProcessOptions, startServerProcess } from '../../support/process.ts'
import { Crew, enlist } from './crew.ts'
import { attach } from './strace.ts'

export interface TracedLoad {
  /** The file that strace wrote: all threads, with paths and whole buffers. */
  readonly trace: string
  /** A folder with the store as it was when strace began. */
  readonly base: string
}

export interface LoadOptions extends ProcessOptions {
  /** Half-way the file is written anew and the log is cut off, beside everything else. */
  readonly scrubs?: boolean
}

/** Everything that `moments` of the load are judged by. */
const followed = [
  ...['read', 'write', 'writev', 'pwrite64', 'fsync', 'fdatasync'],
  ...['ftruncate', 'unlink', 'unlinkat', 'rename', 'renameat', 'renameat2'],
]

/** The load's files are there while `look` looks. */
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
