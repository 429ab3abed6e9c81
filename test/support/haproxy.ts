/** HAProxy with the published configuration for several nodes, with the ports of a test. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export const hasBalancer = spawnSync('haproxy', ['-v']).status === 0

const published = new URL('../../examples/deploy/haproxy-nodes.cfg', import.meta.url)

/**
 * An edition of the published file that takes out only nodes that are gone or say 503: on a busy machine a node may
 * answer a check late.
 */
export function patient(text = readFileSync(published, 'utf8')): string {
  const changed = text.replace('timeout check 1s', 'timeout check 10s')
  if (changed === text) throw new Error('the file for HAProxy has another limit of its checks')
  return changed
}

/** A test speaks plain HTTP with it. Earlier editions have no TLS. */
const bindLine =
  /bind :8443 ssl crt \/run\/secrets\/certificate alpn http\/1\.1 ssl-min-ver TLSv1\.2|bind :8484$/m

export class Balancer {
  readonly url: string
  readonly #port: number
  readonly #folder = mkdtempSync(join(tmpdir(), 'bridge-balancer-'))
  #child: ChildProcess | undefined

  private constructor(port: number, nodes: readonly number[], text: string) {
    this.#port = port
    this.url = `http://127.0.0.1:${port}`
    writeFileSync(join(this.#folder, 'haproxy.cfg'), configuration(port, nodes, text))
  }

  /** `text` is an earlier edition of the published file. */
  static async start(
    port: number,
    nodes: readonly number[],
    text = readFileSync(published, 'utf8'),
  ): Promise<Balancer> {
    const balancer = new Balancer(port, nodes, text)
    try {
      await balancer.start()
      return balancer
    } catch (error) {
      await balancer.close()
      throw error
    }
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

function configuration(port: number, nodes: readonly number[], published: string): string {
  const places: readonly (readonly [from: RegExp, to: string])[] = [
    [bindLine, `bind 127.0.0.1:${port}`],
    ...nodes.map((node, index) => [new RegExp(`node-${'abc'[index]}:8484`), `127.0.0.1:${node}`] as const),
  ]
  return places.reduce((text, [from, to]) => {
    if (!from.test(text)) throw new Error(`haproxy-nodes.cfg lacks: ${from}`)
    return text.replace(from, to)
  }, published)
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
