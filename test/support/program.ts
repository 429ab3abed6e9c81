/**
 * The program that tests start: the one that `build.ts` built for this run, or its sources if nothing was
 * built.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of this run's bundles. */
export const builtFolder = process.env.BRIDGE_TEST_PROGRAM

/** The folder of the client package of this run. */
export const builtClient = builtFolder && join(builtFolder, 'client')

/** The command `bridge` from its sources. */
export const sources = fileURLToPath(new URL('../../cli/launch.ts', import.meta.url))

/** Running `node` with this file is the command `bridge`. */
export const program = builtFolder === undefined ? sources : join(builtFolder, 'bridge.cjs')

/** Node's compile cache of the bundles, kept between starts. */
export const compileCache = join(builtFolder ?? tmpdir(), 'compiled')
