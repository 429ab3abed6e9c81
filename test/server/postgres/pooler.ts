/** PgBouncer in front of the PostgreSQL server of the run, as one process that is ended by its id. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../support/free-port.ts'

const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path))

export const hasPooler = program !== undefined

export interface Pooler {
  /** The database, reached through the pooler. */
  readonly url: string
  close(): Promise<void>
}

export async function startPooler(
  database: string,
  mode: 'session' | 'transaction',
  settings: readonly string[] = [],
): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-pooler-'))
  const target = new URL(database)
  const port = await freePort()
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=${target.hostname} port=${target.port} user=${target.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
${settings.join('\n')}
`,
  )
  const child = spawn(program ?? '', [join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...owner(folder) })
  await listening(port, child)
  const url = new URL(database)
  url.port = String(port)
  return {
    url: url.href,
    async close() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}

/** PgBouncer refuses to run as root. */
function owner(folder: string): { readonly uid?: number; readonly gid?: number } {
  if (userInfo().uid !== 0) return {}
  const [uid = 0, gid = 0] = ['-u', '-g'].map((flag) =>
    Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })),
  )
  chownSync(folder, uid, gid)
  return { uid, gid }
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`)
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (isOpen) return
    await sleep(20)
  }
}
