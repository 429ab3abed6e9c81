/** The same people at the node and at the floor, each a process with its own folder. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../../server/config.ts'
import { initServer } from '../../../server/host/init.ts'
import type { TestAgent } from '../../support/agent.ts'
import { asTestAgent, type Population, populate } from '../../support/population.ts'
import { type Measured, startMeasured, startNode } from '../measured.ts'
import { requestBytes } from './connection.ts'

/** A sender and its recipient. */
export interface Pair {
  readonly sender: TestAgent
  readonly recipient: TestAgent
  readonly conversation: string
}

export interface World {
  readonly product: Measured
  readonly floor: Measured
  /** Pairs whose recipients do not read their mail. */
  readonly pairs: readonly Pair[]
  /** Pairs whose recipients read and acknowledge their mail. */
  readonly readers: readonly Pair[]
  end(): Promise<void>
}

/** Many pairs, because the live nonces of a credential and the messages in an inbox are limited. */
const pairCount = 128
const readerCount = 32

export async function openWorld(environment: Readonly<Record<string, string>> = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-messages-'))
  const started: Measured[] = []
  const end = async () => {
    for (const each of started) await each.end()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const data = join(folder, 'data')
    const { serverId } = await initServer(readConfig({ data, port: '0' }, {}))
    const population = populate(data, 2 * (pairCount + readerCount), pairCount + readerCount)
    const { agents, conversations } = population
    const people = agents.map(({ keys, ...ids }) => ({ ...ids, publicKey: keys.publicKey }))
    mkdirSync(join(folder, 'floor'))
    writeFileSync(
      join(folder, 'floor/people.json'),
      JSON.stringify({ serverId, agents: people, conversations }),
    )
    const product = await startNode(data, environment)
    started.push(product)
    const floorProgram = join(import.meta.dirname, 'floor.mjs')
    const floor = await startMeasured([floorProgram, join(folder, 'floor')], environment)
    started.push(floor)
    const pairs = pairsIn(population, pairCount + readerCount, serverId)
    return { product, floor, pairs: pairs.slice(0, pairCount), readers: pairs.slice(pairCount), end }
  } catch (error) {
    await end()
    throw error
  }
}

/** Returns the first `count` agents, each with the one that is paired with it. */
export function pairsIn(population: Population, count: number, serverId: string): Pair[] {
  const { agents, conversations, projectId } = population
  const all = agents.map((each) => asTestAgent({ url: 'http://127.0.0.1', serverId }, projectId, each))
  return all.slice(0, count).map((sender, index): Pair => {
    const other = index + count
    return { sender, recipient: all[other] as TestAgent, conversation: conversations[other] ?? '' }
  })
}

const filler = 'The build is green on both machines, and the tests that failed yesterday pass. '.repeat(3)

/** Returns a send of 240 bytes of text that starts with its number. */
export const sendBytes = ({ sender, recipient, conversation }: Pair, number: number): Buffer =>
  requestBytes(sender, {
    target: '/api/v1/messages',
    body: {
      conversation_id: conversation,
      recipient_agent_id: recipient.id,
      type: 'note',
      body: `${number} ${filler}`.slice(0, 240),
    },
  })

/** Returns sends of all pairs in turn. */
export const sends = (pairs: readonly Pair[], count: number): Buffer[] =>
  Array.from({ length: count }, (_, index) => sendBytes(pairs[index % pairs.length] as Pair, index))
