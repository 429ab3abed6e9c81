/**
 * The delay of a waiting `task run`: from the answer to a creation to the first action of the command, by one
 * clock.
 *
 * The shell itself writes a line into a named pipe that this process reads, so no other program is measured.
 * The next task is created when the runner waits again.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import type { TestOwner } from '../../support/owner.ts'
import { program } from '../../support/program.ts'
import { createTask, type Target } from './client.ts'

export interface Place {
  readonly url: string
  readonly owner: TestOwner
  readonly projectId: string
  readonly folder: string
}

/** The runner's instructions from its owner, and the folder of its profile. */
export interface Runner {
  readonly agentId: string
  /** Milliseconds from the creation to the command. */
  begin(target: Target): Promise<number>
  end(): Promise<void>
}

export async function startRunner({ url, owner, projectId, folder }: Place): Promise<Runner> {
  const { id } = await owner.createAgent(projectId, 'runner')
  const code = await owner.enrollmentCode(projectId, id)
  const env = { PATH: process.env.PATH, HOME: folder, BRIDGE_HOME: join(folder, 'home') }
  execFileSync(process.execPath, [program, 'enroll', '--url', url], {
    env,
    input: `${code}\n`,
    stdio: 'pipe',
  })
  const pipe = openPipe(join(folder, 'begun'))
  const words = [program, 'task', 'run', '--exec', `echo begun >'${pipe.path}'`]
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const told = new EventEmitter()
  createInterface(child.stderr).on('line', (line) => told.emit(line.split(' ')[0] ?? ''))
  child.once('exit', (status) => told.emit('error', new Error(`the runner ended with ${status}`)))
  const untilWaiting = async () => {
    const target = `/api/admin/projects/${projectId}`
    for (let isBusy = true; isBusy; ) {
      await pause(5)
      const { agents } = await owner.ok<Snapshot>({ target })
      const runner = agents.find((agent) => agent.id === id)
      isBusy = runner === undefined || runner.waiting > 0 || !runner.connection.connected
    }
    // The pause lets its next wait reach the server.
    await pause(15)
  }
  return {
    agentId: id,
    async begin(target) {
      await untilWaiting()
      const begun = once(pipe.socket, 'data').then(() => performance.now())
      const ended = once(told, 'completed')
      await createTask(target)
      const createdMs = performance.now()
      const [begunMs] = await Promise.all([begun, ended])
      return begunMs - createdMs
    },
    async end() {
      told.removeAllListeners()
      told.on('error', () => {})
      pipe.socket.destroy()
      await ended(child)
    },
  }
}

interface Seen {
  readonly id: string
  /** The number of messages that it has not acknowledged. */
  readonly waiting: number
  readonly connection: { readonly connected: boolean }
}

interface Snapshot {
  readonly agents: readonly Seen[]
}

/** Opened for writing too, so that it does not end with a writer. */
function openPipe(path: string): { readonly path: string; readonly socket: Socket } {
  execFileSync('mkfifo', [path])
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  return { path, socket: new Socket({ fd, readable: true, writable: false }) }
}

async function ended(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
