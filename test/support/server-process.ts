/**
 * A server as a process of its own, for `process.ts`: reads one JSON argument, serves, prints one JSON line when ready.
 *
 * It ends with its parent: standard input closes when the parent dies, whatever it died of, and the temporary folder
 * goes with it. `control` breaks the store on purpose (`test/faults/broken-store.ts`); the product has no such switch.
 */
import { rmSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { readConfig, type SettingName } from '../../server/config.ts'
import { initServer } from '../../server/init.ts'
import { startServer } from '../../server/server.ts'
import { testClock } from './clock.ts'

export interface ServerArguments {
  /** Temporary: holds the data folder, and goes with the parent. */
  readonly folder: string
  readonly data: string
  readonly settings: Partial<Record<SettingName, string>>
  /** Make the installation first. */
  readonly init: boolean
  /** The clock begins here instead of now. */
  readonly clockFrom?: string
  readonly control?: 'answers-before-commit' | 'no-sync'
}

export interface ReadyLine {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly setupLink: string | null
}

const args = JSON.parse(process.argv[2] ?? '{}') as ServerArguments

process.stdin.once('end', () => {
  rmSync(args.folder, { recursive: true, force: true })
  process.exit(3)
})
process.stdin.resume()

const config = readConfig({ ...args.settings, data: args.data }, {})
const initialised = args.init ? await initServer(config) : undefined
if (args.control !== undefined) {
  const { breakStore } = await import('../faults/broken-store.ts')
  breakStore(args.control)
}
const clock = args.clockFrom === undefined ? undefined : testClock(new Date(args.clockFrom))
const server = await startServer(config, { ...(clock && { clock }) })

process.once('SIGTERM', () => void server.stop())
void server.finished.then((code) => process.exit(code))

flushCompileCache()
const ready: ReadyLine = {
  url: server.url,
  port: server.port,
  pid: process.pid,
  setupLink: initialised?.setupLink ?? server.setupLink ?? null,
}
process.stdout.write(`${JSON.stringify(ready)}\n`)
