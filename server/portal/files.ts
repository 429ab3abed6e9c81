/**
 * The files of the owner's page in memory. The first visitor loads them; a node without a visitor never does.
 *
 * In a run from source, esbuild.portal.ts builds them. The build of the package puts `portal.cjs` in its place,
 * which has the same function and the finished files.
 */
import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import type { Prebuilt } from '../http/prebuilt.ts'

export interface PageFile {
  readonly type: string
  readonly answer: Prebuilt
}

let loaded: Promise<ReadonlyMap<string, PageFile>> | undefined

/** Returns the files by name. The page itself is `index.html`. */
export function pageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  // A failed build is tried again at the next request.
  loaded ??= load().catch((error: unknown) => {
    loaded = undefined
    throw error
  })
  return loaded
}

async function load(): Promise<ReadonlyMap<string, PageFile>> {
  const { portalFiles } = await import('../../esbuild.portal.ts')
  const files = await portalFiles()
  return new Map(
    files.map(({ name, type, br, gzip }) => {
      const compressed = Buffer.from(gzip, 'base64')
      const identity = gunzipSync(compressed)
      const etag = `"${createHash('sha256').update(identity).digest('base64url')}"`
      const variants = { identity, gzip: compressed, br: Buffer.from(br, 'base64') }
      return [name, { type, answer: { etag, variants } }]
    }),
  )
}
