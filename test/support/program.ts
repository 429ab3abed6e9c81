/** Where `build.ts` puts what tests start. */
import { fileURLToPath } from 'node:url'

const cache = new URL('../../node_modules/.cache/', import.meta.url)

export const builtFolder = fileURLToPath(new URL('program', cache))

/** `node` with this file is `bridge`. */
export const program = fileURLToPath(new URL('program/bridge.cjs', cache))

/** What Node made of it, kept between starts. */
export const compileCache = fileURLToPath(new URL('compile', cache))
