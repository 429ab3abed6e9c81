/** HAProxy with the published configuration for several nodes, with the ports of a test. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export const hasBalancer = spawnSync('haproxy', ['-v']).status === 0

const published = new URL('../../../../examples/deploy/haproxy-nodes.cfg', import.meta.url)

export class Balancer {
  readonly url: string
  readonly #port: number
  readonly #folder = mkdtempSync(join(tmpdir(), 'bridge-balancer-'))
  #child: ChildProcess | undefined

  private constructor(port: number, nodes: readonly number[]) {
    this.#port = port
    this.url = `http://127.0.0.1:${port}`
    writeFileSync(join(this.#folder, 'haproxy.cfg'), configuration(port, nodes))
  }

  static async start(port: number, nodes: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(port, nodes)
    await balancer.start()
    return balancer
  }

  async start(): Promise<void> {
    const child = spawn('haproxy', ['-db', '-f', join(this.#folder, 'haproxy.cfg')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    let said = ''
    child.stderr.on('data', (text) => {
      said += text
    })
    while (!(await accepts(this.#port))) {
      if (child.exitCode !== null) throw new Error(`HAProxy ended before it listened: ${said}`)
      await sleep(5)
    }
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }

  async close(): Promise<void> {
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function configuration(port: number, nodes: readonly number[]): string {
  const places = [
    ['bind :8484', `bind 127.0.0.1:${port}`],
    ...nodes.map((node, index) => [`node-${'abc'[index]}:8484`, `127.0.0.1:${node}`]),
  ]
  return places.reduce(
    (text, [from = '', to = '']) => {
      if (!text.includes(from)) throw new Error(`haproxy-nodes.cfg lacks: ${from}`)
      return text.replace(from, to)
    },
    readFileSync(published, 'utf8'),
  )
}

async function accepts(port: number): Promise<boolean> {
  const probe = connect(port, '127.0.0.1')
  const accepted = await new Promise<boolean>((resolve) => {
    probe.once('connect', () => resolve(true))
    probe.once('error', () => resolve(false))
  })
  probe.destroy()
  return accepted
}
