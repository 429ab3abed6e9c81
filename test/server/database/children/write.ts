/** Writes rows in batches and reports each row: `write.ts PATH COUNT [BATCH [no-sync]]`. */
import { openStore, say } from './store.ts'

const [path = '', count = '0', atOnce = '1', fault] = process.argv.slice(2)
const writer = openStore(path, fault === 'no-sync' ? fault : undefined)

async function store(index: number): Promise<void> {
  const write = writer.write(async (tx) => {
    await tx.db
      .insertInto('audit')
      .values({
        id: tx.id(),
        at: tx.nowIso,
        kind: 'note.taken',
        project_id: null,
        actor_kind: 'system',
        actor_id: null,
        actor_name: 'system',
        subject_type: 'note',
        subject_id: String(index),
        request_id: null,
        details: '{}',
      })
      .execute()
  })
  say(await write.then(() => `stored ${index}`).catch((error: { code?: string }) => `refused ${error.code}`))
}

for (let index = 0; index < Number(count); index += Number(atOnce)) {
  const rows = Array.from({ length: Number(atOnce) }, (_, after) => index + after)
  await Promise.all(rows.map(store))
}
process.exit(0)
