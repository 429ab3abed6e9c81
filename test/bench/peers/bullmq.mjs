// Runs this many complete tasks through BullMQ: enqueued one by one with 32 in parallel, then claimed and
// completed with 32 in parallel. node bullmq.mjs PORT COUNT prints { enqueueMs, workMs }.
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'

const [, , port, words = '1000'] = process.argv
const count = Number(words)
const atOnce = 32
const payload = {
  title: 'Count the lines',
  instructions: 'of README.md, with wc -l; answer with the number alone',
}

const connect = () => new Redis({ host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null })
const name = `tasks-${process.pid}`
const producing = connect()
const queue = new Queue(name, { connection: producing })
await queue.waitUntilReady()

const beganEnqueue = performance.now()
let left = count
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    while (left > 0) {
      left -= 1
      await queue.add('count', payload)
    }
  }),
)
const enqueueMs = performance.now() - beganEnqueue

const working = connect()
const beganWork = performance.now()
let done = 0
const worker = new Worker(name, async () => '90', { connection: working, concurrency: atOnce })
const ended = await new Promise((resolve) => {
  worker.on('completed', () => {
    done += 1
    if (done === count) resolve(performance.now())
  })
})
const workMs = ended - beganWork
await worker.close()
await queue.close()
producing.disconnect()
working.disconnect()
process.stdout.write(`${JSON.stringify({ enqueueMs, workMs })}\n`)
