/**
 * magic-wormhole from Debian, with its own mailbox server on loopback: a comparable program that sends a file
 * from one machine to another. Packages magic-wormhole and python3-magic-wormhole-mailbox-server.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../support/free-port.ts'

export interface Wormhole {
  /** Milliseconds from the start of both commands to the exit of the receiving one. */
  send(file: string, into: string): Promise<number>
  end(): Promise<void>
}

export function hasWormhole(): boolean {
  try {
    execFileSync('/usr/bin/wormhole', ['--version'], { stdio: 'ignore' })
    execFileSync('/usr/bin/python3', ['-c', 'import wormhole_mailbox_server'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export async function startWormhole(folder: string): Promise<Wormhole> {
  const port = await freePort()
  const env = { PATH: '/usr/bin:/bin', HOME: folder, LC_ALL: 'C.UTF-8' }
  const words = ['--nodaemon', 'wormhole-mailbox', `--port=tcp:${port}:interface=127.0.0.1`]
  const mailbox = spawn('/usr/bin/twist3', words.slice(1), { cwd: folder, env, stdio: 'ignore' })
  await accepting(port, mailbox)
  const common = ['--relay-url', `ws://127.0.0.1:${port}/v1`, '--transit-helper', 'tcp:127.0.0.1:1']
  const run = (...more: string[]) =>
    spawn('/usr/bin/wormhole', [...common, ...more], { cwd: folder, env, stdio: 'ignore' })
  let rounds = 0
  return {
    async send(file, into) {
      rounds += 1
      const code = `${rounds}-loop-back`
      const began = performance.now()
      const sender = run('send', '--hide-progress', '--code', code, file)
      const receiver = run('receive', '--hide-progress', '--accept-file', '-o', join(into, 'received'), code)
      const ends = [sender, receiver].map((child) => once(child, 'close'))
      const [status] = (await ends[1]) as [number]
      const ms = performance.now() - began
      await ends[0]
      if (status !== 0) throw new Error(`wormhole receive ended with ${status}`)
      return ms
    },
    async end() {
      const ended = once(mailbox, 'close')
      mailbox.kill('SIGTERM')
      await ended
    },
  }
}

async function accepting(port: number, server: ChildProcess): Promise<void> {
  while (server.exitCode === null) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (isOpen) return
    await pause(50)
  }
  throw new Error('the mailbox server of wormhole did not start')
}
