/**
 * A Compose file of examples/deploy, started as its heading says: the commands are those of the heading, in a
 * copy of the folder, under a project name of its own. The copy has another name than bridge.example, and
 * another published port only if that one is taken.
 */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { freePort } from '../../support/free-port.ts'
import type { Engine } from './engine.ts'

const clone = join(import.meta.dirname, '../../..')
const examples = join(clone, 'examples/deploy')

interface Compose {
  readonly services: Readonly<Record<string, { readonly image?: string }>>
  readonly networks: { readonly default: { readonly ipam: { readonly config: readonly Subnet[] } } }
}

interface Subnet {
  readonly subnet: string
  readonly gateway?: string
}

export interface Settings {
  readonly file: 'compose.yaml' | 'compose-nodes.yaml'
  /** The port that the file publishes. */
  readonly published: number
  /** The origin of the owner's page, if the published port is this one. */
  origin(port: number): string
  /** PEM that replaces the certificate of the reader. */
  readonly certificate?: { readonly cert: string; readonly key: string }
}

/** Returns the images that the file and the Containerfile name. */
export function imagesOf(file: Settings['file']): string[] {
  const { services } = parse(readFileSync(join(examples, file), 'utf8'), { merge: true }) as Compose
  const [, base = ''] = /^FROM (\S+)$/m.exec(readFileSync(join(examples, 'Containerfile'), 'utf8')) ?? []
  return [base, ...Object.values(services).flatMap(({ image }) => image ?? [])]
}

export class Deployment {
  readonly folder = mkdtempSync(join(tmpdir(), 'bridge-deploy-'))
  readonly project = `bridge-test-${process.pid}-${Math.random().toString(36).slice(2, 8)}`
  readonly port: number
  readonly services: readonly string[]
  readonly #engine: Engine
  readonly #settings: Settings
  readonly #subnets: readonly Subnet[]
  readonly #up: string

  private constructor(engine: Engine, settings: Settings, port: number) {
    this.#engine = engine
    this.#settings = settings
    this.port = port
    const { file, published, origin, certificate } = settings
    for (const name of readdirSync(examples)) copyFileSync(join(examples, name), join(this.folder, name))
    const text = readFileSync(join(examples, file), 'utf8')
    const placed = text
      .replace(`127.0.0.1:${published}:`, `127.0.0.1:${port}:`)
      .replaceAll('https://bridge.example', origin(port))
    writeFileSync(join(this.folder, file), placed)
    if (certificate !== undefined) {
      writeFileSync(join(this.folder, 'fullchain.pem'), certificate.cert)
      writeFileSync(join(this.folder, 'privkey.pem'), certificate.key)
    }
    const { services, networks } = parse(placed, { merge: true }) as Compose
    this.services = Object.keys(services)
    this.#subnets = networks.default.ipam.config
    this.#up = commandsOf(text).at(-1)?.split(' && ')[0] ?? ''
  }

  /** Makes the copy, and runs every command of the heading, for a reader whose new files are private. */
  static async start(engine: Engine, settings: Settings): Promise<Deployment> {
    const { published } = settings
    const port = (await isFree(published)) ? published : await freePort()
    if (port !== published)
      process.stdout.write(`port ${published} is taken, so ${port} is published instead\n`)
    const deployment = new Deployment(engine, settings, port)
    try {
      await deployment.#start()
      return deployment
    } catch (error) {
      await deployment.remove()
      throw error
    }
  }

  async #start(): Promise<void> {
    const { file } = this.#settings
    const commands = commandsOf(readFileSync(join(examples, file), 'utf8'))
    const [pack = '', ...more] = commands
    if (pack !== 'npm pack --pack-destination examples/deploy')
      throw new Error(`the heading begins with ${pack}`)
    await this.#engine.shell(pack.replace('examples/deploy', this.folder), clone)
    await this.#engine.shell(['umask 077', ...more.slice(0, -1)].join('\n'), this.folder)
    await this.#makeNetwork()
    await this.#compose(this.#up)
  }

  /** Makes the network as the file says, because podman-compose 1.0.3 leaves its subnet out. */
  async #makeNetwork(): Promise<void> {
    if (this.#engine.name !== 'podman') return
    const [{ subnet = '', gateway } = {}] = this.#subnets as readonly Partial<Subnet>[]
    const label = `com.docker.compose.project=${this.project}`
    const given = gateway === undefined ? [] : ['--gateway', gateway]
    const name = `${this.project}_default`
    await this.#engine.run('network', 'create', '--label', label, '--subnet', subnet, ...given, name)
  }

  #compose(command: string): Promise<string> {
    const own = `${this.#engine.compose} -p ${this.project}`
    return this.#engine.shell(command.replace('docker compose', own), this.folder)
  }

  /** The name of the container of a service. */
  async container(service: string): Promise<string> {
    const labels = [`com.docker.compose.project=${this.project}`, `com.docker.compose.service=${service}`]
    const filters = labels.flatMap((label) => ['--filter', `label=${label}`])
    return this.#engine.run('ps', '--all', ...filters, '--format', '{{.Names}}')
  }

  async logs(service: string): Promise<string> {
    // Podman writes each line of a container to the stream that it came from.
    return this.#engine.shell(`${this.#engine.name} logs ${await this.container(service)} 2>&1`, this.folder)
  }

  /** Resolves with the set-up links that the nodes have printed, once there is one. */
  async setupLinks(): Promise<string[]> {
    const own = this.services.filter((name) => /^(node-|bridge$)/.test(name))
    for (let tries = 0; ; tries += 1) {
      const texts = await Promise.all(own.map((name) => this.logs(name)))
      const links = texts.flatMap((text) => text.match(/^https:\S+\/setup#\S+$/gm) ?? [])
      if (links.length > 0) return links
      if (tries === 400) throw new Error(`no set-up link in the logs: ${texts.join('\n')}`)
      await sleep(500)
    }
  }

  async kill(service: string): Promise<void> {
    await this.#engine.run('kill', await this.container(service))
  }

  async startAgain(service: string): Promise<void> {
    await this.#engine.run('start', await this.container(service))
  }

  async addressOf(service: string): Promise<string> {
    const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}'
    return this.#engine.run('inspect', '--format', format, await this.container(service))
  }

  /** Runs the health check of a container; returns whether it passed. Docker runs it by itself. */
  async isHealthy(service: string): Promise<boolean> {
    const name = await this.container(service)
    const passed = () => true
    const failed = () => false
    if (this.#engine.name === 'podman')
      return this.#engine.run('healthcheck', 'run', name).then(passed, failed)
    const status = await this.#engine.run('inspect', '--format', '{{.State.Health.Status}}', name)
    return status === 'healthy'
  }

  /** Stops everything as a person does, who also removes the data. */
  async down(): Promise<void> {
    await this.#compose(this.#up.replace('up --build --detach', 'down --volumes'))
  }

  /** Containers and volumes of the project. */
  async left(): Promise<string[]> {
    const mine = ['--filter', `label=com.docker.compose.project=${this.project}`]
    const containers = await this.#engine.run('ps', '--all', ...mine, '--format', '{{.Names}}')
    const volumes = await this.#engine.run('volume', 'ls', '--quiet', '--filter', `name=${this.project}`)
    return `${containers}\n${volumes}`.split('\n').filter((name) => name !== '')
  }

  /** Removes all that is left of the project, with its images and the copy of the folder. */
  async remove(): Promise<void> {
    const run = (...words: string[]) => this.#engine.run(...words).catch(() => '')
    const lines = async (...words: string[]) =>
      (await run(...words)).split('\n').filter((line) => line !== '')
    const mine = ['--filter', `label=com.docker.compose.project=${this.project}`]
    for (const name of await lines('ps', '--all', '--quiet', ...mine)) await run('rm', '--force', name)
    for (const name of await lines('volume', 'ls', '--quiet', '--filter', `name=${this.project}`))
      await run('volume', 'rm', name)
    for (const name of await lines('network', 'ls', '--quiet', ...mine)) await run('network', 'rm', name)
    for (const separator of ['_', '-'])
      for (const service of this.services) await run('image', 'rm', `${this.project}${separator}${service}`)
    if (this.#engine.name === 'podman') await run('pod', 'rm', '--force', `pod_${this.project}`)
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** The commands of a heading, without the remarks behind them. */
function commandsOf(text: string): string[] {
  const heading = text.slice(0, text.indexOf('\nname:'))
  return [...heading.matchAll(/^# {3}(\S.*?)(?: {4,}\(.*)?$/gm)].map(([, command = '']) => command)
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
