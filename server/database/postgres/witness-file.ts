/** The file of the witness in the data folder; see `witness.ts`. */
import { readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'

/** Content of the file. */
export interface Witnessed {
  readonly server_id: string
  /** The last confirmed id of each lane. */
  readonly lanes: Readonly<Record<string, string>>
  /** Whether the server stopped after it had written this file, so that the file is complete. */
  readonly stopped: boolean
  /** Timeline of the database when the node last compared it. */
  readonly timeline?: string | undefined
  /** Epoch of the database then; see `epochs.ts`. */
  readonly epoch?: number | undefined
  /** Last `bridge server restored` that the node knows. */
  readonly accepted_ms?: number
  /** Whether other nodes served beside this one. Their confirmed writes are not in this file. */
  readonly shared?: boolean
  /** Time of `bridge server restored`, if no server has served the database since. */
  readonly restored_at?: string
}

/** Returns what the file says about this installation. */
export function readWitnessed(file: string, serverId: string): Witnessed | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const found = JSON.parse(text) as Witnessed
  return found.server_id === serverId ? found : undefined
}

/** Replaces the file in one step, and waits for the disk. */
export async function writeWitnessed(file: string, witnessed: Witnessed): Promise<void> {
  const partial = `${file}.partial`
  const handle = await open(partial, 'w', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify(witnessed)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(partial, file)
}
