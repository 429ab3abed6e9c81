/**
 * Maintenance that is killed repeatedly: the remaining messages are always a complete suffix, and no message
 * that must stay is removed.
 *
 * The default is three kills; BRIDGE_KILLS=50 is the full form. Contract §10.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startBridge } from '../support/bridge.ts'
import { chanceFrom } from '../support/chance.ts'
import { invariants } from '../support/invariants.ts'
import { populate } from '../support/population.ts'
import { isOnPostgres } from '../support/postgres.ts'
import { daysAgo } from '../support/tamper.ts'
import { type TestStore, withStore } from '../support/test-store.ts'

const kills = Number(process.env.BRIDGE_KILLS ?? 3)
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const perKill = 3000
const conversations = 40

const child = fileURLToPath(new URL('./lab/maintainer.ts', import.meta.url))
const held = /sequences of a conversation|inbox counts/

/** The messages are old and acknowledged, except one in five hundred, after which all must stay. */
function fill(store: TestStore, conversationIds: readonly string[], projectId: string): void {
  const each = Math.ceil((kills * perKill) / conversationIds.length)
  const at = daysAgo(100)
  const columns = `id, project_id, conversation_id, sequence, sender_kind, sender_agent_id, sender_name, recipient_kind,
    recipient_agent_id, inbox_agent_id, type, body, encoding, root_id, hops, created_at, offers, offered_generation,
    first_offered_at, acknowledged_at`
  const insert = store.prepare(`WITH RECURSIVE numbers (sequence) AS
      (SELECT 1 UNION ALL SELECT sequence + 1 FROM numbers WHERE sequence < ${each})
    INSERT INTO messages (${columns})
    SELECT CAST(@prefix AS TEXT) || printf('%012x', sequence), CAST(@project AS TEXT), id, sequence, 'agent', agent_a, 'ada',
      'agent', agent_b, agent_b, 'note', CAST(@body AS TEXT), 'text', id, 0, CAST(@at AS TEXT), 1, 1, CAST(@at AS TEXT),
      CASE WHEN sequence <> ${Math.ceil(each / 2)} OR @stays = 0 THEN CAST(@at AS TEXT) END
    FROM conversations CROSS JOIN numbers WHERE id = @id`)
  store.exec('BEGIN')
  for (const [place, id] of conversationIds.entries()) {
    const prefix = `019aa000-${place.toString(16).padStart(4, '0')}-7000-8000-`
    const stays = place % 4 === 0 ? 1 : 0
    insert.run({ prefix, project: projectId, body: 'x'.repeat(400), at, stays, id })
    if (stays === 1) {
      const sql = `INSERT INTO inboxes (agent_id, waiting) SELECT agent_b, 1 FROM conversations WHERE id = ?
        ON CONFLICT (agent_id) DO UPDATE SET waiting = inboxes.waiting + 1`
      store.prepare(sql).run(id)
    }
    store.prepare('UPDATE conversations SET last_sequence = ? WHERE id = ?').run(each, id)
  }
  store.exec('COMMIT')
}

interface Left {
  readonly removed: Record<string, number>
  readonly unread: number
  readonly wrong: unknown[]
}

const look = (data: string): Left =>
  withStore(data, (store) => ({
    removed: Object.fromEntries(
      store
        .prepare<[string, number]>('SELECT id, removed_through_sequence FROM conversations ORDER BY id')
        .raw()
        .all(),
    ),
    unread:
      store.prepare<number>('SELECT count(*) FROM messages WHERE acknowledged_at IS NULL').pluck().get() ?? 0,
    wrong: [
      ...invariants.filter(({ name }) => held.test(name)).flatMap(({ sql }) => store.prepare(sql).all()),
      ...(isOnPostgres ? [] : store.prepare<string>('PRAGMA integrity_check').pluck().all()).filter(
        (line) => line !== 'ok',
      ),
    ],
  }))

/** Runs until it is killed or finishes. */
async function maintained(data: string, killAfterMs?: number): Promise<string> {
  const process_ = spawn(process.execPath, [child, data], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface(process_.stdout)
  const ended = once(process_, 'close')
  await once(lines, 'line')
  let said = ''
  lines.on('line', (line) => {
    said = line
  })
  if (killAfterMs !== undefined) {
    await delay(killAfterMs)
    process_.kill('SIGKILL')
  }
  await ended
  return said
}

test(`maintenance that is killed ${kills} times keeps the messages that must stay, and reaches the same result`, {
  timeout: 300_000 + kills * 5000,
}, async () => {
  const bridge = await startBridge()
  try {
    const people = populate(bridge.data, conversations, 4)
    const ids = people.conversations.filter((id) => id !== '')
    withStore(bridge.data, (store) => fill(store, ids, people.projectId))
    const chance = chanceFrom(seed)
    let before = look(bridge.data)
    const { unread } = before
    expect(unread).toBeGreaterThan(0)
    for (let kill = 1; kill <= kills; kill += 1) {
      await maintained(bridge.data, chance() * 200)
      const after = look(bridge.data)
      expect(after.wrong, `seed ${seed}, kill ${kill}`).toEqual([])
      expect(after.unread).toBe(unread)
      for (const [id, through] of Object.entries(before.removed))
        expect(after.removed[id], `seed ${seed}, kill ${kill}`).toBeGreaterThanOrEqual(through)
      before = after
    }
    expect(JSON.parse(await maintained(bridge.data))).toMatchObject({ skipped_for_jump_seconds: null })
    const { removed, wrong } = look(bridge.data)
    const each = Math.ceil((kills * perKill) / ids.length)
    const expected = ids.map((id, place) => [id, place % 4 === 0 ? Math.ceil(each / 2) - 1 : each])
    expect(wrong).toEqual([])
    expect(removed).toMatchObject(Object.fromEntries(expected))
  } finally {
    await bridge.close()
  }
})
