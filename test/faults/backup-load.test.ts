/**
 * Repeated backups of a node under load: each restores to a store that passes every check and contains every
 * write answered before it began. Writers continue during the backups.
 *
 * BRIDGE_BACKUPS=20 runs it with 20 backups; `test/server/backups` has the small form. Reliability §3.1 F30.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../server/config.ts'
import { backUp } from '../../server/host/backups/backup.ts'
import { restoreBackup } from '../../server/host/init.ts'
import { startServer } from '../../server/server.ts'
import { databasePath } from '../../server/storage/data-folder.ts'
import { checkStore } from '../support/invariants.ts'
import { sqliteOnly } from '../support/one-store.ts'
import { setUpOwner } from '../support/owner.ts'
import { startServerProcess } from '../support/process.ts'
import { withStoreCopy } from '../support/store-copy.ts'
import { machineMs } from './lab/client-log.ts'
import { Crew, enlist } from './lab/crew.ts'

sqliteOnly('test/server/postgres/backups.test.ts')

const backups = Number(process.env.BRIDGE_BACKUPS ?? 0)
if (backups === 0) process.stderr.write('skipped: BRIDGE_BACKUPS=20 makes backups under load\n')
const common = { clock: () => new Date(), random: randomBytes }

function bodiesIn(file: string): { readonly wrong: string[]; readonly bodies: ReadonlySet<string> } {
  const database = new Database(file, { readonly: true })
  try {
    const bodies = database.prepare<[], string>('SELECT body FROM messages').pluck().all()
    return { wrong: checkStore(database), bodies: new Set(bodies) }
  } finally {
    database.close()
  }
}

test.skipIf(backups === 0)(
  `each of ${backups} backups under 32 writers is valid and complete`,
  { timeout: 300_000 + backups * 20_000 },
  async () => {
    const server = await startServerProcess()
    onTestFinished(() => server.close())
    const owner = await setUpOwner(server.url, server.setupLink)
    const specs = await enlist(owner, { count: 32, folder: server.folder, seed: 7 })
    const crew = new Crew(server.url, specs, { stops: false })
    onTestFinished(() => crew.close())
    await crew.answers(500)
    const folder = join(server.folder, 'made')
    mkdirSync(folder)
    const rates: string[] = []
    let grown = 0
    for (let count = 1; count <= backups; count += 1) {
      await crew.answers(200)
      const [before, began] = [crew.answered, machineMs()]
      const file = join(folder, `${count}.db`)
      await backUp({
        ...common,
        data: server.data,
        destination: file,
        signal: new AbortController().signal,
        pagesPerStep: 64,
        onProgress() {
          grown = Math.max(grown, statSync(`${databasePath(server.data)}-wal`).size)
        },
      })
      const ms = machineMs() - began
      rates.push(
        `${statSync(file).size >> 10} KiB in ${Math.round(ms)} ms, ${crew.answered - before} answers meanwhile`,
      )
      const { wrong, bodies } = bodiesIn(file)
      expect(wrong, `backup ${count}`).toEqual([])
      const sent = crew
        .operations()
        .filter(({ op, outcome, returned }) => op === 'send' && outcome === 'ok' && returned < began)
      expect(sent.length).toBeGreaterThan(0)
      expect(sent.filter(({ text }) => !bodies.has(text ?? '')).map(({ text }) => text)).toEqual([])

      const data = join(server.folder, `restored-${count}`)
      await restoreBackup({
        ...common,
        config: readConfig({ data }, {}),
        file,
        replace: false,
        acceptCredentials: true,
      })
      const restored = await startServer(readConfig({ data, port: '0', log_level: 'silent' }, {}))
      await restored.stop()
      expect(withStoreCopy(data, checkStore), `restored ${count}`).toEqual([])
      expect(existsSync(join(data, 'restore.json'))).toBe(false)
      rmSync(data, { recursive: true })
    }
    process.stderr.write(`${rates.join('\n')}\nthe log grew to ${grown >> 10} KiB\n`)
  },
)
