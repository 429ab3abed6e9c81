/**
 * Runs inside a separate network namespace whose loopback drops packets: a node, one listener per transport
 * that acknowledges its messages, and messages to them. Prints one line of JSON with the messages of each
 * listener.
 *
 * `argv`: the percentage of dropped packets, and the number of messages to each listener.
 */
import { execFileSync } from 'node:child_process'
import { type Bridge, type ListenTransport, listenTransports } from '../../../sdk/program.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge } from '../../support/bridge.ts'
import { bridgeOf, Ear } from '../../support/sdk-listener.ts'

export interface Heard {
  readonly transport: ListenTransport
  readonly texts: readonly string[]
  /** The number of messages of which the same attempt was delivered more than once. */
  readonly twice: number
  readonly transports: readonly ListenTransport[]
}
export interface LossReport {
  readonly heard: readonly Heard[]
  /** The number of packets that the namespace dropped, and of those it forwarded. */
  readonly dropped: number
  readonly passed: number
}

interface Listener {
  readonly transport: ListenTransport
  readonly agent: TestAgent
  readonly client: Bridge
  readonly ear: Ear
  /** The messages whose acknowledgement was confirmed. */
  readonly done: Set<string>
}

const [percent = 20, count = 60] = process.argv.slice(2).map(Number)
/** A message that was written into a broken connection is due again after one minute. */
const patienceMs = 240_000

const nft = (...words: string[]): string => execFileSync('nft', words, { encoding: 'utf8' })

function loseBy(share: number): void {
  nft('add table inet loss')
  nft('add chain inet loss incoming { type filter hook input priority 0 ; }')
  nft(`add rule inet loss incoming meta l4proto tcp numgen random mod 100 < ${share} counter drop`)
  nft('add rule inet loss incoming meta l4proto tcp counter accept')
}

function counted(): { dropped: number; passed: number } {
  const [dropped = 0, passed = 0] = [...nft('list chain inet loss incoming').matchAll(/packets (\d+)/g)].map(
    ([, packets]) => Number(packets),
  )
  return { dropped, passed }
}

execFileSync('ip', ['link', 'set', 'lo', 'up'])
const bridge = await startBridge()
const listeners: Listener[] = []
for (const transport of listenTransports) {
  const agent = await bridge.agent(transport)
  const client = bridgeOf(agent, { transports: [transport] })
  const ear = new Ear(client)
  await ear.on(transport)
  listeners.push({ agent, client, ear, transport, done: new Set<string>() })
}
loseBy(percent)
const texts = Array.from({ length: count }, (_, index) => `text ${index}`)

/** Acknowledges every received message through the same network, and retries until it succeeds. */
async function acknowledge({ ear, client, done }: Listener): Promise<void> {
  const open = ear.messages.map(({ id }) => id).filter((id) => !done.has(id))
  if (open.length === 0) return
  const { acknowledged, already } = await client.acknowledgements.create(open.slice(0, 100))
  for (const id of [...acknowledged, ...already]) done.add(id)
}

const sending = Promise.all(
  listeners.map(async ({ agent }) => {
    for (const text of texts) await bridge.owner.message(bridge.project.id, agent.id, text)
  }),
)
const deadline = performance.now() + patienceMs
const isWhole = () => listeners.every(({ done }) => done.size === count)
while (!isWhole() && performance.now() < deadline) {
  await Promise.allSettled(listeners.map(acknowledge))
  await new Promise((resolve) => setTimeout(resolve, 50))
}
await sending
const report: LossReport = {
  heard: listeners.map(({ transport, ear }) => {
    const offers = ear.messages.map(({ id, delivery }) => `${id} ${delivery.attempt}`)
    return {
      transport,
      texts: [...new Set(ear.bodies)],
      twice: offers.length - new Set(offers).size,
      transports: ear.transports,
    }
  }),
  ...counted(),
}
process.stdout.write(`${JSON.stringify(report)}\n`)
nft('delete table inet loss')
for (const { ear, client } of listeners) {
  await ear.stop()
  await client.close()
}
await bridge.close()
process.exit(0)
