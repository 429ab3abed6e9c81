/**
 * The object store of a harness as a process, which can be killed. It answers after an object is on the disk.
 * Arguments: the folder of the objects, and the port or 0. Controlled by `objects.ts` over IPC.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Faults, type ObjectStore, startObjectStore } from '../../../support/object-store.ts'
import { StoredObjects } from './stored-objects.ts'

export type StoreFault = 'has no fault' | 'is slow' | 'answers 500' | 'cuts uploads' | 'loses answers'

export interface Started {
  readonly endpoint: string
  readonly settings: ReturnType<ObjectStore['settings']>
}

const slowMs = 300
/** Uploads that a fault strikes. */
const struck = 2

const faults: Record<StoreFault, () => Faults> = {
  'has no fault': () => ({}),
  'is slow': () => ({ before: () => sleep(slowMs).then(() => undefined) }),
  'answers 500': () => once(() => ({ status: 500, code: 'InternalError' }), 'before'),
  'cuts uploads': () => {
    let left = struck
    return { cutAfter: (_call, bytes) => bytes > 100_000 && left-- > 0 }
  },
  'loses answers': () => once(() => 'lost' as const, 'afterPut'),
}

function once<T>(fault: () => T, name: 'before' | 'afterPut'): Faults {
  let left = struck
  return { [name]: ({ verb }: { verb: string }) => (verb === 'PUT' && left-- > 0 ? fault() : undefined) }
}

const [folder = '', port] = process.argv.slice(2)
process.once('disconnect', () => process.exit(0))
const store = await startObjectStore(Number(port), new StoredObjects(folder))
process.on('message', (fault: StoreFault) => {
  store.faults = faults[fault]()
  process.send?.('set')
})
const started: Started = { endpoint: store.endpoint, settings: store.settings() }
process.send?.(started)
