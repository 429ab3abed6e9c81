/** The object store of the section, as a process. Prints the settings of a node that uses it. */
import { startObjectStore } from '../../support/object-store.ts'

const store = await startObjectStore()
process.stdout.write(`${JSON.stringify(store.settings())}\n`)
