/**
 * Listeners: the memory of one waiting listener without messages, for each transport, against bare
 * `node:http` and ws.
 *
 * The figure is the growth of the resident set between a thousand and five thousand listeners, each in a
 * fresh process and after a forced collection.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readConfig } from '../../../server/config.ts'
import { initServer } from '../../../server/host/init.ts'
import type { TestAgent } from '../../support/agent.ts'
import { asTestAgent, populate } from '../../support/population.ts'
import { type Measured, startMeasured, startNode, type Usage } from '../measured.ts'
import { noCosts } from '../processor.ts'
import { type BenchOptions, type Row, row } from '../rows.ts'
import { type Dialect, openCrowd, transports } from './crowd.ts'

const few = 1000
const many = 5000

export async function* listenersSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-listeners-'))
  try {
    const data = join(folder, 'data')
    const { serverId } = await initServer(readConfig({ data, port: '0' }, {}))
    const { agents, projectId } = populate(data, many, 1)
    const people = agents.map((each) => asTestAgent({ url: 'http://127.0.0.1', serverId }, projectId, each))
    for (const [name, dialect] of transports) {
      const sizes = { product: [] as number[], floor: [] as number[], costs: noCosts() }
      const keep = (side: 'product' | 'floor', { kib, cpuUs }: OneListener): void => {
        sizes[side].push(kib)
        sizes.costs[side].push(cpuUs)
      }
      for (let round = 0; round < (isQuick ? 1 : 5); round += 1) {
        const floor = await startMeasured([join(import.meta.dirname, 'floor.mjs')])
        keep('floor', await sizeOf(floor, people, dialect))
        const copy = join(folder, `${name}-${round}`)
        cpSync(data, copy, { recursive: true })
        keep('product', await sizeOf(await startNode(copy), people, dialect))
        rmSync(copy, { recursive: true })
      }
      yield row(`listeners: memory of an idle one, ${name}`, 'KiB', sizes, { atMost: 2 })
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The cost of one listener: its memory while it waits, and the processor time of its opening. */
interface OneListener {
  readonly kib: number
  readonly cpuUs: number
}

/** Measures a server and ends it afterwards. */
async function sizeOf(
  server: Measured,
  people: readonly TestAgent[],
  dialect: Dialect,
): Promise<OneListener> {
  const crowd = openCrowd(server.port, dialect)
  try {
    await crowd.add(people.slice(0, few))
    const before = await settled(server)
    await crowd.add(people.slice(few, many))
    const after = await settled(server)
    crowd.requireAll(many)
    const added = many - few
    return {
      kib: (after.residentKiB - before.residentKiB) / added,
      cpuUs: ((after.busyMs - before.cpuMs) * 1000) / added,
    }
  } finally {
    crowd.close()
    await server.end()
  }
}

/** Returns the usage once the server is idle, because a long-poll does not show that it is held. */
async function settled(server: Measured): Promise<Usage & { readonly busyMs: number }> {
  for (let before = await server.usage(); ; ) {
    await pause(200)
    const after = await server.usage()
    if (after.cpuMs - before.cpuMs < 20) return { ...(await server.collected()), busyMs: after.cpuMs }
    before = after
  }
}
