/**
 * Backup, restore or key replacement in a separate process that a test kills, or whose disk fails. Arguments:
 * the operation, the data folder, the backup file, and a number from which names are generated. Prints `done`
 * if it finishes, otherwise the name of the error.
 */

import { backUp } from '../../server/host/backups/backup.ts'
import { restoreBackup, rotateKey } from '../../server/host/init.ts'
import { testConfig } from './config.ts'

const [what = '', data = '', file = '', names = '7'] = process.argv.slice(2)
const config = testConfig(data)
const clock = () => new Date()
/** Names that the test can predict. */
const random = (bytes: number) => Buffer.alloc(bytes, Number(names))

const backup = (onProgress: () => void, pagesPerStep?: number) =>
  backUp({
    data,
    destination: file,
    clock,
    random,
    signal: new AbortController().signal,
    onProgress,
    ...(pagesPerStep !== undefined && { pagesPerStep }),
  })

const sleepMs = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

const acts: Readonly<Record<string, () => Promise<unknown>>> = {
  backup: () => backup(() => {}),
  'backup that is slow': () => backup(() => sleepMs(5000), 1),
  'backup that is killed': () => backup(() => process.kill(process.pid, 'SIGKILL')),
  restore: () => restoreBackup({ config, file, replace: true, acceptCredentials: false, clock, random }),
  rotate: () => rotateKey(config, false),
}

process.stdout.write('begun\n')
try {
  await acts[what]?.()
  process.stdout.write('done\n')
} catch (error) {
  const { name, code } = error as Error & { code?: string }
  process.stdout.write(`${code ?? name}\n`)
}
