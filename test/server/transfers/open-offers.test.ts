/** How many transfers of one conversation may be open at once, and that all of them end with its pair. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { act, fileOf, look, offer, offerBody } from '../../support/files.ts'
import { withStore } from '../../support/test-store.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const given = (from: TestAgent, to: TestAgent) => ({
  from,
  to,
  bytes: fileOf(10),
  fields: { mode: 'direct' } as const,
})

/** Stores copies of a transfer, because as many offers would take long. */
function copy(id: string, count: number): void {
  withStore(bridge.data, (store) => {
    const columns = store.columnsOf('transfers')
    const values = columns.map((name) =>
      name === 'id' ? "'00000000-0000-7000-8000-' || CAST(100000000000 + i AS TEXT)" : name,
    )
    store
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
         INSERT INTO transfers (${columns.join(', ')}) SELECT ${values.join(', ')} FROM transfers, n WHERE id = ?`,
      )
      .run(id)
  })
}

const openCount = () =>
  withStore(bridge.data, (store) =>
    store.prepare<number>('SELECT count(*) FROM transfers WHERE ends_at IS NOT NULL').pluck().get(),
  )

test('a conversation has a thousand open transfers at most, and all of them end with its pair', async () => {
  const { ada, ben, owner, project } = bridge
  const offered = async (from: TestAgent, to: TestAgent) => {
    const body = await offerBody(given(from, to))
    const { json } = await from.call({ target: '/api/v1/transfers', body })
    return json as { id: string; error?: string; details?: object; message?: string }
  }
  const { id } = await offer(given(ada, ben))
  copy(id, limits.openTransfers - 2)
  const last = await offered(ben, ada)
  expect(last).toMatchObject({ state: 'offered' })
  for (const [from, to] of [
    [ada, ben],
    [ben, ada],
  ] as const)
    expect(await offered(from, to)).toMatchObject({
      error: 'capacity_reached',
      details: { limit: 'open_transfers' },
    })
  const cleo = await bridge.agent('cleo')
  expect(await offered(ada, cleo)).toMatchObject({ state: 'offered' })
  await act(ben, last.id, 'cancel')
  expect(await offered(ada, ben)).toMatchObject({ state: 'offered' })

  expect(openCount()).toBe(limits.openTransfers + 1)
  await owner.setPairing(project.id, [ada.id, ben.id], false)
  expect(openCount()).toBe(1)
  await owner.setPairing(project.id, [ada.id, ben.id], true)
  expect(await look(ada, id)).toMatchObject({ state: 'cancelled', parts: [{ index: 0, size: 10 }] })
})
