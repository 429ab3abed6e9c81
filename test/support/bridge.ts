/**
 * A real server for a test: a fresh data folder on disk, a real socket on loopback, an owner and agents.
 *
 * `startBridge` runs it in this process, so that a test can pass in the clock. `test/support/process.ts` runs
 * the program itself.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pace } from '../../sdk/parts/receive.ts'
import { readConfig } from '../../server/config.ts'
import type { ServerChance } from '../../server/context.ts'
import { type RunningServer, startServer } from '../../server/server.ts'
import type { SettingName } from '../../server/settings.ts'
import { enroll, type TestAgent } from './agent.ts'
import { type TestClock, testClock } from './clock.ts'
import { freePort } from './free-port.ts'
import { dropConnections } from './http.ts'
import { makeInstallation } from './installation.ts'
import { setUpOwner, type TestOwner } from './owner.ts'
import { dropDatabase, storeSettings } from './postgres.ts'
import { builtClient } from './program.ts'

export interface TestBridge {
  readonly url: string
  readonly data: string
  readonly server: RunningServer
  readonly clock: TestClock
  readonly owner: TestOwner
  readonly project: { id: string; name: string }
  /** Two agents that are enrolled and paired, each with a session. */
  readonly ada: TestAgent
  readonly ben: TestAgent
  /** Enrolls one more agent with a session, by default in the same project. */
  agent(name: string, projectId?: string): Promise<TestAgent>
  /** Stops the server and starts it on the same data folder. */
  restart(): Promise<TestBridge>
  close(): Promise<void>
}

export interface BridgeOptions {
  readonly settings?: Partial<Record<SettingName, string>>
  /** Variables of the environment that the settings are read with. */
  readonly environment?: Readonly<Record<string, string>>
  /** An existing folder, for a test that chooses the disk; a temporary one by default. */
  readonly data?: string
  readonly clock?: TestClock
  readonly random?: (bytes: number) => Buffer
  /** The monotonic clock of waits and streams; the one of the process by default. */
  readonly monotonicMs?: () => number
  /** Least progress at an object store; that of the program by default. */
  readonly packagePace?: Pace
  /** log2 of the cost of hashing a password. The program uses 17. */
  readonly passwordCost?: number
  /** Receives the lines of the log; set a `log_level` too. */
  readonly logTo?: { write(line: string): void }
  /** Folder of the client package; that of this run by default. */
  readonly clientFolder?: string | undefined
}

export async function startBridge(options: BridgeOptions = {}): Promise<TestBridge> {
  const data = options.data ?? (await mkdtemp(join(tmpdir(), 'bridge-')))
  const clock = options.clock ?? testClock()
  // The port is the same after a restart, so no other test may take it meanwhile.
  const settings = { port: String(await freePort()), ...options.settings }
  const config = configFor(data, { ...options, settings })
  await makeInstallation(config)
  const server = await startServer(config, chance(options, clock))
  const owner = await setUpOwner(server.url, server.setupLink ?? '')
  const project = await owner.createProject('demo')
  const agent = async (name: string, projectId = project.id) => {
    const { id } = await owner.createAgent(projectId, name)
    const enrolled = await enroll(server.url, await owner.enrollmentCode(projectId, id), clock)
    await enrolled.startSession()
    return enrolled
  }
  const ada = await agent('ada')
  const ben = await agent('ben')
  const parts = { data, clock, owner, project, ada, ben, agent }
  return bridge(options, server, parts)
}

type People = Omit<TestBridge, 'url' | 'server' | 'restart' | 'close'>

function bridge(options: BridgeOptions, server: RunningServer, people: People): TestBridge {
  return {
    ...people,
    url: server.url,
    server,
    async restart() {
      await server.stop()
      dropConnections(server.url)
      const config = configFor(people.data, {
        ...options,
        settings: { ...options.settings, port: String(server.port) },
      })
      return bridge(options, await startServer(config, chance(options, people.clock)), people)
    },
    async close() {
      await server.stop()
      await dropDatabase(people.data)
      await rm(people.data, { recursive: true, force: true })
    },
  }
}

/** Makes hashing passwords cheap, because most tests only need an owner to exist. */
const chance = (
  { random, monotonicMs, logTo, packagePace, passwordCost = 4, clientFolder = builtClient }: BridgeOptions,
  clock: TestClock,
): ServerChance => ({
  clock,
  elapsedMs: clock.elapsedMs,
  ...(monotonicMs && { monotonicMs }),
  ...(random && { random }),
  ...(logTo && { logTo }),
  ...(packagePace && { packagePace }),
  passwordCost,
  ...(clientFolder && { clientFolder }),
})

/** Sets high rate limits; a test of the limits sets its own. */
function configFor(data: string, { settings = {}, environment = {} }: BridgeOptions) {
  const defaults = {
    port: '0',
    log_level: 'silent',
    reserve_bytes: '0',
    rate_per_second: '100000',
    rate_burst: '100000',
    public_per_second: '100000',
    public_burst: '100000',
    failed_auth_per_minute: '100000',
  }
  return readConfig({ data, ...defaults, ...storeSettings(data), ...settings }, environment)
}
