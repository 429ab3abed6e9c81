/** The periodic check for lost wake-ups while the clock of the node is set. Contract §5, §6. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startBridge } from '../../support/bridge.ts'
import { storeBehindItsBack } from './listeners.ts'

test('a wait gets a message stored after the clock was set back, also on a node without other requests', async () => {
  let bridge = await startBridge()
  try {
    const { ada, ben, clock } = bridge
    const conversation = await ada.conversationWith(ben.id)
    const { id } = await ada.send(conversation, ben.id, 'first')
    await ben.acknowledge(id)
    // Every id is older than the start of the next process.
    await bridge.server.stop()
    clock.advance(600)
    bridge = await bridge.restart()
    // The pause lets the periodic check run once.
    await pause(1200)
    clock.step(-300)
    const waiting = ben.inbox('?wait_seconds=20')
    // A unit that is open then would keep this write from its lane on PostgreSQL.
    await pause(2000)
    storeBehindItsBack(bridge, conversation)
    const began = performance.now()
    expect((await waiting).messages).toMatchObject([{ body: 'first' }])
    expect(performance.now() - began).toBeLessThan(10_000)
  } finally {
    await bridge.close()
  }
})
