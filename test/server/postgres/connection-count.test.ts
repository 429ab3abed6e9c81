/**
 * How many connections a node has to PostgreSQL, under requests and afterwards: `docs/operations.md` tells it to
 * people who set the limit of their database. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { settlePeople } from '../../support/people.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { startServerProcess } from '../../support/process.ts'

const kept = 8
const most = 10
const clients = 40
/** Time for which requests go on after the node has all its connections. */
const moreMs = 1000

test.skipIf(!isOnPostgres)(
  `a node keeps ${kept} connections to PostgreSQL, and has ${most} at most`,
  async () => {
    const server = await startServerProcess()
    onTestFinished(() => server.close())
    const { owner, project, ada, ben } = await settlePeople(server)
    const conversation = await ada.conversationWith(ben.id)
    await onDatabase(server.data, async (client) => {
      const count = async () => {
        const { rows } = await client.query(
          `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND application_name LIKE 'agent-bridge%'`,
        )
        return rows.length
      }
      let isOver = false
      const reads = Array.from({ length: clients }, async () => {
        while (!isOver) await owner.ok({ target: `/api/admin/projects/${project.id}/agents` })
      })
      const writes = async () => {
        while (!isOver) {
          await ada.send(conversation, ben.id, 'x')
          // Fewer than the rate of an agent allows.
          await sleep(50)
        }
      }
      const counts: number[] = []
      const samples = async () => {
        while (!isOver) {
          counts.push(await count())
          await sleep(5)
        }
      }
      const all = Promise.all([...reads, writes(), samples()])
      await expect.poll(() => Math.max(...counts)).toBeGreaterThanOrEqual(kept)
      await sleep(moreMs)
      isOver = true
      await all
      expect(Math.max(...counts)).toBeLessThanOrEqual(most)
      await expect.poll(count).toBe(kept)
    })
  },
)
