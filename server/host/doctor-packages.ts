/** The finding of `bridge server doctor` on the store of packages, to which it writes nothing. */
import { ConfigError } from '../config-error.ts'
import { StoreRefusal } from '../package-store/objects/failure.ts'
import { PackagesUnusableError } from '../package-store/objects/watch.ts'
import type { ObjectPlace } from '../packages-place.ts'
import { type Examined, ok } from './findings.ts'

export async function examinePackages(place: ObjectPlace | undefined): Promise<Examined> {
  if (place === undefined) return ok('packages', 'in the data folder')
  const { examineStore } = await import('../package-store/objects/open.ts')
  try {
    const owner = await examineStore(place)
    return ok(
      'packages',
      `${place.name} answers, ${owner === undefined ? 'unused' : `used by the node ${owner}`}`,
    )
  } catch (error) {
    return { check: 'packages', state: 'problem', ...wordsOf(place, error), exit: 'unexpected' }
  }
}

function wordsOf({ name }: ObjectPlace, error: unknown): Pick<Examined, 'text' | 'remedy'> {
  if (error instanceof PackagesUnusableError) return { text: error.message, remedy: error.remedy }
  const why = error instanceof Error ? error.message : ''
  if (error instanceof ConfigError)
    return { text: why, remedy: 'run the command with the credentials of the node, or correct them' }
  if (error instanceof StoreRefusal)
    return { text: `${name}: ${why}`, remedy: 'check the object store; it fails at present' }
  return {
    text: `${name} does not answer${why && `: ${why}`}`,
    remedy: 'start the object store, or correct packages_endpoint',
  }
}
