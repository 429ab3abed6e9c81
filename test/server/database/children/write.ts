/** Writes one row after the other and says so after each: `write.ts PATH COUNT [PRAGMA]`. */
import { openStore, say } from './store.ts'

const [path = '', count = '0', pragma] = process.argv.slice(2)
const writer = openStore(path, pragma)
for (let index = 0; index < Number(count); index += 1) {
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
process.exit(0)
