/** Ports for servers that are started again, or whose port is known before they start. */
import { once } from 'node:events'
import { createServer } from 'node:net'

const lowestPort = 15_000
const highestPort = 31_999
const portsOfWorker = 1000
/** A port is bound only seconds after it was found. So test files that run at once draw from different ones. */
const lowestOfWorker =
  lowestPort +
  portsOfWorker *
    (Number(process.env.VITEST_POOL_ID ?? 0) % Math.floor((highestPort - lowestPort) / portsOfWorker))
let lastPort = Math.floor(Math.random() * portsOfWorker)

/** Finds a free port outside the range for outgoing connections. */
export async function freePort(): Promise<number> {
  for (;;) {
    lastPort = (lastPort + 1) % portsOfWorker
    const port = lowestOfWorker + lastPort
    const probe = createServer()
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!free) continue
    probe.close()
    await once(probe, 'close')
    return port
  }
}
