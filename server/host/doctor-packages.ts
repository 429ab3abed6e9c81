/** The finding of `bridge server doctor` on the store of packages. Nothing is written to it. */
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
    const text =
      error instanceof Error && error.message !== '' ? error.message : `${place.name} does not answer`
    const remedy = 'check packages, packages_endpoint, packages_region and the credentials in the environment'
    return { check: 'packages', state: 'problem', text, remedy, exit: 'unexpected' }
  }
}
