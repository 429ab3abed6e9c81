/**
 * Poll answers that a client never reads, in real time.
 *
 * Contract §6.
 */
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startBridge } from '../../support/bridge.ts'
import { signedText } from '../../support/raw-client.ts'
import { watchServed } from '../../support/served.ts'
import { openPolls } from '../../support/streams.ts'
import { lookUp, until } from './listeners.ts'

// BRIDGE_STUCK=1 runs this test: Node notices the missing progress after 20 to 40 seconds.
test.skipIf(process.env.BRIDGE_STUCK === undefined)(
  'messages in a poll answer that is never read are offered to another wait',
  async () => {
    const bridge = await startBridge()
    onTestFinished(() => bridge.close())
    const agent = await bridge.agent('stuck')
    const count = 120
    const large = 'x'.repeat(60_000)
    for (let sent = 0; sent < count; sent += 20) {
      const some = Array.from({ length: 20 }, (_, n) => `${sent + n} ${large}`)
      await Promise.all(some.map((text) => bridge.owner.message(bridge.project.id, agent.id, text)))
    }
    const target = '/api/v1/inbox?limit=100'
    const served = watchServed()
    onTestFinished(() => served.stop())
    const stuck = connect(bridge.server.port, '127.0.0.1')
    stuck.pause()
    // More than the system buffers, so that the page behind it stays in the node.
    const side = await served.of(stuck)
    side.write(Buffer.alloc(16 * 1024 * 1024))
    stuck.write(signedText(agent, { target }))
    // This request is answered after the node has read the page.
    await agent.ok({ target: '/api/v1/peers' })
    await until(
      async () => (await agent.inbox('?limit=100')).messages.length,
      (left) => left === 0,
    )
    const began = performance.now()
    const elsewhere = openPolls(agent)
    await until(
      () => elsewhere.events.some(({ type }) => type === 'messages'),
      (came) => came,
    )
    expect(performance.now() - began).toBeLessThan(43_000)
    const offered = () =>
      lookUp(bridge, 'SELECT count(*) FROM messages WHERE inbox_agent_id = ? AND offers > 0', agent.id)
    await until(offered, (all) => all === count)
    const again = (await elsewhere.messages(1)).map(({ body }) => body)
    expect(new Set(again).size).toBe(again.length)
    elsewhere.close()
    stuck.destroy()
  },
  90_000,
)
