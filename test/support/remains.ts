/** For the set-up of test files: what is left when the work of a file is over. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves once `find` finds nothing, or after five seconds with what it still finds. */
export async function lastOf(find: () => readonly string[]): Promise<readonly string[]> {
  for (let tries = 0; tries < 250; tries += 1) {
    if (find().length === 0) return []
    await sleep(20)
  }
  return find()
}

/**
 * Running processes whose command line, environment or working folder names the folder, with their command lines.
 * Only Linux can be asked.
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
      // It has ended, or belongs to another user.
      return []
    }
  })
}
