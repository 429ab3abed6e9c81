/** Removes the files of sessions that had no hook for 30 days. */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { removeFile, touchedAt } from './files.ts'
import { type Places, sessionBinding } from './places.ts'

const keptMs = 30 * 86_400_000

export function tidy(home: string, { folder }: Places, now: Date): void {
  const old = (path: string) => (touchedAt(path) ?? now.getTime()) < now.getTime() - keptMs
  const perSession = /\.(ledger\.json|turn|empty|looked|capped|tmp)$/
  const inFolder = filesOf(folder).filter((path) => perSession.test(path))
  const bindings = filesOf(dirname(sessionBinding(home, '')))
  for (const path of [...inFolder, ...bindings]) if (old(path)) removeFile(path)
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name))
  } catch {
    return []
  }
}
