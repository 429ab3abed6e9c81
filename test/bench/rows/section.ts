/**
 * The cost of reads with many stored rows. A node with a thousand rows of each kind and one with a million
 * alternately get the same signed requests over connections that stay open. Both answers have the same number
 * of rows.
 */
import { Pool } from 'undici'
import { noCosts, processMs } from '../processor.ts'
import { type BenchOptions, type Row, row } from '../rows.ts'
import { createTask, type Filled } from './filled.ts'

/** Used by the section `start` too: a million rows of each kind are more than 1 GiB. */
export const sizes = (isQuick: boolean) => ({ few: 1000, many: isQuick ? 20_000 : 1_000_000 })

export async function* rowsSection({ isQuick, stores }: BenchOptions): AsyncGenerator<Row | string> {
  const { few, many } = sizes(isQuick)
  const [rounds, each] = isQuick ? [2, 20] : [5, 60]
  const began = performance.now()
  const floor = await openSide(await stores.filled(few))
  try {
    const product = await openSide(await stores.filled(many))
    try {
      yield `rows: ${few} and ${many} messages, tasks and audit records; filled in ${seconds(began)} s`
      for (const [name, target] of Object.entries(requests)) {
        const rates = { product: [] as number[], floor: [] as number[], costs: noCosts() }
        for (let round = 0; round <= rounds; round += 1) {
          const found = await inTurns(floor, product, target, each)
          // The first round loads the pages into memory, on both sides.
          if (round === 0) continue
          for (const side of ['floor', 'product'] as const) {
            rates[side].push(found[side])
            rates.costs[side].push(found.cpuUs[side])
          }
        }
        yield row(`rows: ${name}, ${many} rows against ${few}`, 'ms', rates, { atMost: 1.25 })
      }
    } finally {
      await product.pool.close()
    }
  } finally {
    await floor.pool.close()
  }
}

const seconds = (began: number): string => ((performance.now() - began) / 1000).toFixed(0)

interface Side extends Filled {
  readonly pool: Pool
}

const waiting = 60

async function openSide(filled: Filled): Promise<Side> {
  const pool = new Pool(filled.server.url, { connections: 1, pipelining: 1 })
  // Both sides have the same number of waiting tasks, whatever else is stored.
  for (let index = 0; index < waiting; index += 1) await createTask(filled)
  return { ...filled, pool }
}

type Request = (side: Filled) => { readonly by: 'ada' | 'ben' | 'owner'; readonly target: string }

const ofProject =
  (path: string): Request =>
  ({ projectId }) => ({ by: 'owner', target: `/api/admin/projects/${projectId}${path}` })

const requests: Readonly<Record<string, Request>> = {
  inbox: () => ({ by: 'ben', target: '/api/v1/inbox' }),
  'everything unacknowledged': () => ({ by: 'ben', target: '/api/v1/inbox/messages' }),
  'the latest history': ({ conversationId }) => ({
    by: 'ada',
    target: `/api/v1/conversations/${conversationId}/messages`,
  }),
  'history after a number': ({ conversationId }) => ({
    by: 'ada',
    target: `/api/v1/conversations/${conversationId}/messages?after_sequence=500`,
  }),
  peers: () => ({ by: 'ada', target: '/api/v1/peers' }),
  conversations: () => ({ by: 'ada', target: '/api/v1/conversations' }),
  'tasks of an agent': () => ({ by: 'ben', target: '/api/v1/tasks' }),
  'its open tasks': () => ({ by: 'ben', target: '/api/v1/tasks?role=assignee&state=open' }),
  'its failed tasks, of which there is none': () => ({
    by: 'ben',
    target: '/api/v1/tasks?role=assignee&state=failed',
  }),
  'its claimed tasks': () => ({ by: 'ben', target: '/api/v1/tasks?role=assignee&state=claimed' }),
  'tasks of a project': ofProject('/tasks'),
  'a page of the audit': ofProject('/audit'),
  'the newest of the audit': ofProject('/audit?order=newest_first'),
  'the audit by kind': ofProject('/audit?kind=task.claimed'),
  'the audit by the commonest kind': ofProject('/audit?kind=message.sent'),
  'the audit by actor': (side) => ofProject(`/audit?actor_id=${side.ada.id}`)(side),
  'the audit by actor and kind': (side) =>
    ofProject(`/audit?actor_id=${side.ada.id}&kind=task.completed`)(side),
  snapshot: ofProject(''),
}

/**
 * Milliseconds of one request at a time, as the first quartile: every signed read waits for the disk, and
 * half of the slower times come from the disk and the machine.
 */
async function inTurns(floor: Side, product: Side, request: Request, each: number) {
  const times = { floor: [] as number[], product: [] as number[] }
  const used = () => ({ floor: processMs(floor.server.pid), product: processMs(product.server.pid) })
  const before = used()
  for (let index = 0; index < each; index += 1) {
    times.floor.push(await timeOf(floor, request))
    times.product.push(await timeOf(product, request))
  }
  const after = used()
  const cpuUs = (side: 'floor' | 'product') => ((after[side] - before[side]) * 1000) / each
  return {
    floor: lowerQuartile(times.floor),
    product: lowerQuartile(times.product),
    cpuUs: { floor: cpuUs('floor'), product: cpuUs('product') },
  }
}

const lowerQuartile = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 2] ?? Number.NaN

async function timeOf(side: Side, request: Request): Promise<number> {
  const { by, target } = request(side)
  const headers =
    by === 'owner' ? { cookie: side.owner.cookie } : Object.fromEntries(side[by].sign({ target }, ''))
  const began = performance.now()
  const { statusCode, body } = await side.pool.request({ method: 'GET', path: target, headers })
  const text = await body.text()
  const tookMs = performance.now() - began
  if (statusCode !== 200) throw new Error(`${target} answered ${statusCode}: ${text}`)
  return tookMs
}
