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
import type Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { startBridge } from '../support/bridge.ts'
import { chanceFrom } from '../support/chance.ts'
import { invariants } from '../support/invariants.ts'
import { populate } from '../support/population.ts'
import { onFile } from '../support/sqlite-file.ts'
import { daysAgo } from '../support/tamper.ts'

const kills = Number(process.env.BRIDGE_KILLS ?? 3)
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const perKill = 3000
const conversations = 40

const child = fileURLToPath(new URL('./lab/maintainer.ts', import.meta.url))
const held = /sequences of a conversation|inbox counts/

/** The messages are old and acknowledged, except one in five hundred, after which all must stay. */
function fill(database: Database.Database, conversationIds: readonly string[], projectId: string): void {
  const each = Math.ceil((kills * perKill) / conversationIds.length)
  const columns = `id, project_id, conversation_id, sequence, sender_kind, sender_agent_id, sender_name, recipient_kind,
    recipient_agent_id, inbox_agent_id, type, body, encoding, root_id, hops, created_at, offers, offered_generation,
    first_offered_at, acknowledged_at`
  const insert = database.prepare(`INSERT INTO messages (${columns})
    SELECT printf('019aa000-%04x-7000-8000-%012x', @place, @sequence), @project, id, @sequence, 'agent', agent_a, 'ada', 'agent',
      agent_b, agent_b, 'note', hex(randomblob(200)), 'text', id, 0, @at, 1, 1, @at, @acknowledged
    FROM conversations WHERE id = @id`)
  database.transaction(() => {
    for (const [place, id] of conversationIds.entries()) {
      for (let sequence = 1; sequence <= each; sequence += 1) {
        const stays = place % 4 === 0 && sequence === Math.ceil(each / 2)
        const at = daysAgo(100)
        insert.run({ place, sequence, project: projectId, id, at, acknowledged: stays ? null : at })
        if (stays) {
          const sql = `INSERT INTO inboxes (agent_id, waiting) SELECT agent_b, 1 FROM conversations WHERE id = ?
            ON CONFLICT (agent_id) DO UPDATE SET waiting = waiting + 1`
          database.prepare(sql).run(id)
        }
      }
      database.prepare('UPDATE conversations SET last_sequence = ? WHERE id = ?').run(each, id)
    }
  })()
}

interface Left {
  readonly removed: Record<string, number>
  readonly unread: number
  readonly wrong: unknown[]
}

const look = (data: string): Left =>
  onFile(data, (database) => ({
    removed: Object.fromEntries(
      database
        .prepare<[], [string, number]>('SELECT id, removed_through_sequence FROM conversations ORDER BY id')
        .raw()
        .all(),
    ),
    unread: database
      .prepare<[], number>('SELECT count(*) FROM messages WHERE acknowledged_at IS NULL')
      .pluck()
      .get() as number,
    wrong: [
      ...invariants.filter(({ name }) => held.test(name)).flatMap(({ sql }) => database.prepare(sql).all()),
      ...(database.prepare('PRAGMA integrity_check').pluck().all() as string[]).filter(
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
    onFile(bridge.data, (database) => fill(database, ids, people.projectId))
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
