/**
 * Many writers in a separate process, which can be killed like the server. Controlled by `crew.ts` over IPC.
 */
import { EventEmitter, once } from 'node:events'
import { type Server, Writer, type WriterSpec } from './writer.ts'

export type Order =
  | { readonly do: 'work'; readonly url: string; readonly starts: number; readonly writers: WriterSpec[] }
  | { readonly do: 'hear'; readonly starts: number }
  | { readonly do: 'drain' }

export type Told =
  | { readonly told: 'answered' }
  | { readonly told: 'drained' }
  | { readonly told: 'lost'; readonly call: string }

const news = new EventEmitter().setMaxListeners(0)
let starts = 0
let over = false

process.once('disconnect', () => process.exit(3))
process.on('message', (order: Order) => {
  if (order.do === 'drain') over = true
  else starts = order.starts
  if (order.do === 'hear') news.emit('started')
  if (order.do === 'work') void work(order.url, order.writers)
})

async function work(url: string, specs: readonly WriterSpec[]): Promise<void> {
  const server: Server = {
    url,
    starts: () => starts,
    async startedAfter(before) {
      while (starts <= before) await once(news, 'started')
    },
    answered: () => tell({ told: 'answered' }),
    lost: (call) => tell({ told: 'lost', call }),
  }
  const writers = specs.map((spec) => new Writer(spec, server))
  await Promise.all(writers.map((writer) => writer.work(() => over)))
  // No writer reads its inbox to the end while its peer still sends.
  await Promise.all(writers.map((writer) => writer.drain()))
  tell({ told: 'drained' })
}

function tell(news: Told): void {
  process.send?.(news)
}
