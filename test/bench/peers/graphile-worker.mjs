// Runs this many complete tasks through graphile-worker: enqueued one by one with 32 in parallel, then
// claimed and completed with 32 in parallel. node graphile-worker.mjs CONNECTION COUNT prints { enqueueMs,
// workMs }.
import { EventEmitter } from 'node:events'
import { Logger, makeWorkerUtils, run } from 'graphile-worker'

const [, , connectionString, words = '1000'] = process.argv
const count = Number(words)
const atOnce = 32
const logger = new Logger(() => () => {})
const payload = {
  title: 'Count the lines',
  instructions: 'of README.md, with wc -l; answer with the number alone',
}

const tools = await makeWorkerUtils({ connectionString, maxPoolSize: atOnce, logger })
await tools.migrate()

const beganEnqueue = performance.now()
let left = count
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    while (left > 0) {
      left -= 1
      await tools.addJob('count', payload)
    }
  }),
)
const enqueueMs = performance.now() - beganEnqueue
await tools.release()

const events = new EventEmitter()
let began
let done = 0
events.on('job:start', () => {
  began ??= performance.now()
})
const finished = new Promise((resolve) => {
  events.on('job:complete', () => {
    done += 1
    if (done === count) resolve(performance.now())
  })
})
const taskList = { count: async () => {} }
const options = { connectionString, concurrency: atOnce, maxPoolSize: atOnce, taskList, events, logger }
const runner = await run({ ...options, noHandleSignals: true })
const workMs = (await finished) - began
await runner.stop()
process.stdout.write(`${JSON.stringify({ enqueueMs, workMs })}\n`)
