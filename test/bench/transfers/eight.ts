/**
 * Several files through the store in parallel, up and down, by two agents of one process: COUNT at a time.
 *
 * node eight.ts HOME SENDER RECIPIENT FILE FOLDER COUNT exits when each was received and verified.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { openProfile } from '../../../sdk/index.ts'

const [, , home = '', sender = '', recipient = '', file = '', folder = '', count = ''] = process.argv
const from = await openProfile(sender, { home })
const to = await openProfile(recipient, { home })

async function once(index: number): Promise<void> {
  const { id } = await from.transfers.send(file, { to: recipient, filename: `file-${index}.bin` })
  const { path } = await to.transfers.receive(id, join(folder, `file-${index}.bin`))
  rmSync(path)
}

await Promise.all(Array.from({ length: Number(count) }, (_, index) => once(index)))
await from.close()
await to.close()
