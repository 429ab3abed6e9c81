/** Opens the store of packages that the settings name. */
import type { Config } from './config.ts'
import { createFolderPackages } from './package-store/folder/packages.ts'
import type { Packages } from './package-store/packages.ts'

export interface PackageServices {
  /** Monotonic milliseconds. */
  readonly monotonicMs: () => number
}

export const openPackages = async (
  { data, packageSpareBytes }: Config,
  { monotonicMs }: PackageServices,
): Promise<Packages> => createFolderPackages({ data, spareBytes: packageSpareBytes, elapsedMs: monotonicMs })
