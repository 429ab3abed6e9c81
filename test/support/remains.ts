/** Used by the set-up of test files: finds processes and files that remain after a test file has finished. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Polls until `find` returns nothing, for at most thirty seconds; resolves with its last result. */
export async function lastOf(find: () => readonly string[]): Promise<readonly string[]> {
  for (let tries = 0; tries < 1500; tries += 1) {
    if (find().length === 0) return []
    await sleep(20)
  }
  return find()
}

/**
 * Running processes whose command line, environment or working folder names the folder, with their command
 * lines. Always empty outside Linux.
 */
export function processesOf(folder: string): readonly string[] {
  if (!existsSync('/proc/self/environ')) return []
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) return []
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      const told = [command, readFileSync(`/proc/${pid}/environ`, 'utf8'), readlinkSync(`/proc/${pid}/cwd`)]
      return command !== '' && told.some((text) => text.includes(folder))
        ? [`process ${pid} (${command})`]
        : []
    } catch {
      // The process has ended, or belongs to another user.
      return []
    }
  })
}
