/**
 * The people and projects that the cases need, each made on first use.
 *
 * Most cases share one server. A case that moves the clock, stops the server or needs other settings gets a
 * separate server.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../../server/config.ts'
import { issueOwnerLink, issueTelemetryToken } from '../../../server/host/init.ts'
import { startServer } from '../../../server/server.ts'
import type { SettingName } from '../../../server/settings.ts'
import type { TestAgent } from '../../support/agent.ts'
import { enroll } from '../../support/agent.ts'
import { type BridgeOptions, startBridge, type TestBridge } from '../../support/bridge.ts'
import { testConfig } from '../../support/config.ts'
import { exchange, keepConnections, type Reply } from '../../support/http.ts'
import { makeInstallation } from '../../support/installation.ts'
import { cookieOf, TestOwner } from '../../support/owner.ts'
import { dropDatabase, storeSettings } from '../../support/postgres.ts'

export interface Pair {
  readonly project: { readonly id: string }
  readonly ada: TestAgent
  readonly ben: TestAgent
  /** The conversation between the two agents. */
  readonly conversation: string
}

export class World {
  readonly bridge: TestBridge
  /** The data folder of each server that runs. */
  readonly folders: string[]
  readonly #closers: (() => Promise<void>)[] = []
  #closed: Promise<void> | undefined
  #names = 0
  #telemetryToken: Promise<string> | undefined

  readonly #letGo: () => void

  constructor(bridge: TestBridge) {
    this.bridge = bridge
    this.#letGo = keepConnections(bridge.url)
    this.folders = [bridge.data]
  }

  get owner(): TestOwner {
    return this.bridge.owner
  }

  name(of: string): string {
    this.#names += 1
    return `${of} ${this.#names}`
  }

  async project(): Promise<string> {
    return (await this.owner.createProject(this.name('project'))).id
  }

  async setProject(id: string, state: 'active' | 'paused' | 'archived'): Promise<void> {
    await this.owner.ok({ target: `/api/admin/projects/${id}/state`, body: { state } })
  }

  async setAgent(projectId: string, id: string, state: 'enabled' | 'disabled'): Promise<void> {
    await this.owner.ok({ target: `/api/admin/projects/${projectId}/agents/${id}/state`, body: { state } })
  }

  async setPairing({ project, ada, ben }: Pair, enabled: boolean): Promise<void> {
    const body = { agent_ids: [ada.id, ben.id], enabled }
    await this.owner.ok({ target: `/api/admin/projects/${project.id}/pairings`, body })
  }

  /** Creates an agent that is not enrolled. */
  async unenrolled(projectId: string = this.bridge.project.id): Promise<string> {
    return (await this.owner.createAgent(projectId, this.name('agent'))).id
  }

  /** Returns an enrolled agent without a session. */
  async enrolled(projectId: string = this.bridge.project.id, fields: object = {}): Promise<TestAgent> {
    const id = await this.unenrolled(projectId)
    const code = await this.owner.enrollmentCode(projectId, id, fields)
    return enroll(this.bridge.url, code, this.bridge.clock)
  }

  /** Returns an enrolled agent with a session. */
  async agent(projectId?: string, fields?: object): Promise<TestAgent> {
    const agent = await this.enrolled(projectId, fields)
    await agent.startSession()
    return agent
  }

  /** Returns two paired agents in a separate project. */
  async pair(): Promise<Pair> {
    const project = { id: await this.project() }
    const ada = await this.agent(project.id)
    const ben = await this.agent(project.id)
    return { project, ada, ben, conversation: await ada.conversationWith(ben.id) }
  }

  /** Opens another session of the owner with a link from the host. */
  async signedIn(): Promise<TestOwner> {
    return this.#signedInBy(await this.linkToken())
  }

  /** Follows a one-time sign-in link and returns the reply. */
  follow(token: string): Promise<Reply> {
    const { url } = this.bridge
    return exchange(url, {
      method: 'POST',
      target: '/api/admin/session',
      headers: [
        ['Origin', url],
        ['Content-Type', 'application/json'],
      ],
      body: JSON.stringify({ link_token: token }),
    })
  }

  async #signedInBy(token: string): Promise<TestOwner> {
    const reply = await this.follow(token)
    if (reply.status !== 200) throw new Error(`the link was refused: ${reply.text}`)
    return new TestOwner(this.bridge.url, cookieOf(reply))
  }

  /** Creates an administrator without projects who has just signed in. */
  async administrator(): Promise<{ readonly id: string; readonly by: TestOwner }> {
    const { administrator, link } = await this.owner.ok<{ administrator: { id: string }; link: string }>({
      target: '/api/admin/administrators',
      body: { name: this.name('administrator') },
    })
    return { id: administrator.id, by: await this.#signedInBy(new URL(link).hash.slice(1)) }
  }

  async assign(administratorId: string, projectId: string, assigned: boolean): Promise<void> {
    const body = { project_id: projectId, assigned }
    await this.owner.ok({ target: `/api/admin/administrators/${administratorId}/assign`, body })
  }

  async linkToken(): Promise<string> {
    const link = await issueOwnerLink(testConfig(this.bridge.data))
    return new URL(link).hash.slice(1)
  }

  /** The token of this server, made on first use. */
  telemetryToken(): Promise<string> {
    this.#telemetryToken ??= issueTelemetryToken(testConfig(this.bridge.data))
    return this.#telemetryToken
  }

  /** Registers a function to call before the server is stopped; the last one registered is called first. */
  onClose(close: () => Promise<void>): void {
    this.#closers.push(close)
  }

  /** Starts a separate server of the same kind. It is closed with this one, unless it was closed before. */
  async elsewhere(options: BridgeOptions = {}): Promise<World> {
    const world = new World(await startBridge(options))
    const { data } = world.bridge
    this.folders.push(data)
    world.onClose(async () => {
      this.folders.splice(this.folders.indexOf(data), 1)
    })
    this.#closers.push(() => world.close())
    return world
  }

  /** Restarts the same installation; `change` may modify the data folder while it is stopped. */
  async restarted(change: (data: string) => void): Promise<World> {
    this.#letGo()
    await this.bridge.server.stop()
    change(this.bridge.data)
    const world = new World(await this.bridge.restart())
    this.#closers.push(async () => {
      world.#letGo()
      await world.bridge.server.stop()
    })
    return world
  }

  /** Starts a server that has no owner yet; returns the token of its set-up link. */
  async ownerless(settings: Partial<Record<SettingName, string>> = {}) {
    const data = await mkdtemp(join(tmpdir(), 'bridge-'))
    const config = readConfig(
      { data, port: '0', log_level: 'silent', reserve_bytes: '0', ...storeSettings(data), ...settings },
      {},
    )
    await makeInstallation(config)
    const server = await startServer(config, { passwordCost: 4 })
    this.folders.push(data)
    this.#closers.push(async () => {
      await server.stop()
      await dropDatabase(data)
      await rm(data, { recursive: true, force: true })
    })
    return { url: server.url, token: new URL(server.setupLink ?? '').hash.slice(1) }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    for (const close of this.#closers.reverse()) await close()
    this.#letGo()
    await this.bridge.close()
  }
}

export const startWorld = async (options: BridgeOptions = {}): Promise<World> =>
  new World(await startBridge(options))
