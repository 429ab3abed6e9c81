/**
 * Commands: the time from start to exit of `bridge --version`, of the hooks of a harness, and of a one-shot
 * `bridge send`, and how soon `bridge mcp` exits. Then the time of an agent on a new machine to its first message.
 */
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { exportPrivateKey, generateKeyPair } from '../../../sdk/signing/keys.ts'
import { readConfig } from '../../../server/config.ts'
import { initServer } from '../../../server/host/init.ts'
import { enroll } from '../../support/agent.ts'
import { setUpOwner } from '../../support/owner.ts'
import { program } from '../../support/program.ts'
import { type Measured, startMeasured, startNode } from '../measured.ts'
import { childrenMs, costing, noCosts } from '../processor.ts'
import { type BenchOptions, bounded, type Row, row } from '../rows.ts'
import { hookRows } from './hooks.ts'
import { mcpRows } from './mcp.ts'
import { type Newcomer, secondsToListening } from './newcomer.ts'
import { compare, type Environment, msOf } from './starts.ts'

export async function* commandsSection({ isQuick }: BenchOptions): AsyncGenerator<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-commands-'))
  const rounds = isQuick ? 2 : 5
  const runs = isQuick ? 6 : 20
  const started: Measured[] = []
  try {
    const version = compare({ rounds, runs }, ['-e', '0'], [program, '--version'])
    yield row('commands: bridge --version, against node -e 0', 'ms', version, { atMost: 1.35 })
    const floor = await startFloor(folder)
    started.push(floor)
    const product = await startProduct(folder, started)
    yield* hookRows(folder, { rounds, runs }, product.environment)
    yield* mcpRows(folder, { rounds, runs }, product.environment)
    const text = 'the build is green'
    const floorSend = [join(import.meta.dirname, 'floor-send.cjs'), join(folder, 'floor'), String(floor.port)]
    const sent = compare(
      { rounds, runs },
      [...floorSend, text],
      [program, 'send', 'ben', text],
      product.environment,
    )
    yield row('commands: one-shot bridge send', 'ms', sent, { atMost: 1.6 })
    const tookS: number[] = []
    const costs = noCosts()
    for (let round = 0; round < rounds; round += 1) {
      const newcomer = await product.newcomer()
      const { result, cpuMs } = await costing(childrenMs, () =>
        secondsToListening(join(folder, 'machines'), newcomer),
      )
      tookS.push(result)
      costs.product.push(cpuMs * 1000)
    }
    yield bounded('commands: empty HOME to listening, own client', 's', tookS, 20, costs)
  } finally {
    for (const each of started) await each.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Product {
  /** Environment with the profile of the agent `ada`. */
  readonly environment: Environment
  /** Creates an agent that has not enrolled. */
  readonly newcomer: () => Promise<Newcomer>
}

/** Starts a node with an agent `ada` and her peer `ben`. */
async function startProduct(folder: string, started: Measured[]): Promise<Product> {
  const data = join(folder, 'data')
  const { setupLink } = await initServer(readConfig({ data, port: '0' }, {}))
  const node = await startNode(data)
  started.push(node)
  const url = `http://127.0.0.1:${node.port}`
  const owner = await setUpOwner(url, setupLink)
  const { id: projectId } = await owner.createProject('bench')
  liftBudget(data)
  const codeOf = async (name: string) =>
    owner.enrollmentCode(projectId, (await owner.createAgent(projectId, name)).id)
  const ben = await enroll(url, await codeOf('ben'), () => new Date())
  await ben.startSession()
  const environment = { HOME: folder, BRIDGE_HOME: join(folder, 'home') }
  msOf([program, 'enroll', '--url', url], environment, `${await codeOf('ada')}\n`)
  // This send starts the session and looks ben up, once for all later sends.
  msOf([program, 'send', 'ben', 'hello'], environment)
  let newcomers = 0
  const newcomer = async () => {
    newcomers += 1
    const { id: agentId } = await owner.createAgent(projectId, `new-${newcomers}`)
    const code = await owner.enrollmentCode(projectId, agentId)
    return { url, code, welcome: () => owner.message(projectId, agentId, 'welcome') }
  }
  return { environment, newcomer }
}

/** Raises the limit of messages in one conversation, which otherwise stops two agents in a loop. */
function liftBudget(data: string): void {
  const database = new Database(join(data, 'bridge.db'), { fileMustExist: true })
  database.exec('UPDATE projects SET message_budget = 1000000')
  database.close()
}

async function startFloor(folder: string): Promise<Measured> {
  const home = join(folder, 'floor')
  mkdirSync(home)
  const { publicKey, privateKey } = generateKeyPair()
  const serverId = randomUUID()
  const [agentId, credentialId, sessionId, conversationId, peerId] = Array.from({ length: 5 }, () =>
    randomUUID(),
  )
  const ids = { serverId, credentialId, sessionId, conversationId, peerId }
  writeFileSync(join(home, 'profile.json'), JSON.stringify(ids))
  writeFileSync(join(home, 'key.pem'), exportPrivateKey(privateKey), { mode: 0o600 })
  const agents = [{ agentId, credentialId, sessionId, publicKey }]
  const people = { serverId, agents, conversations: [conversationId] }
  writeFileSync(join(home, 'people.json'), JSON.stringify(people))
  return startMeasured([join(import.meta.dirname, '../messages/floor.mjs'), home])
}
