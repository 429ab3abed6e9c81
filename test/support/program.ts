/** What tests start: the program that `build.ts` built for this run; its sources where nothing was built. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the bundles of this run lie. */
export const builtFolder = process.env.BRIDGE_TEST_PROGRAM

/** `node` with this file is `bridge`. */
export const program =
  builtFolder === undefined
    ? fileURLToPath(new URL('../../cli/main.ts', import.meta.url))
    : join(builtFolder, 'bridge.cjs')

/** What Node makes of the bundles, kept between starts. */
export const compileCache = join(builtFolder ?? tmpdir(), 'compiled')
