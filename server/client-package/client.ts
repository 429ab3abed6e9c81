/**
 * The client package in memory: found beside the program, read once, at the first use.
 *
 * A run from source takes the package of the last `npm run build`, unless a source is newer. Contract §11.
 */
import { createHash } from 'node:crypto'
import { globSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ClientPackage as Description } from '../../sdk/contract/client.ts'
import { oldestNode, version } from '../../sdk/version.ts'
import { ApiError } from '../api-error.ts'
import { build } from '../build.ts'
import { retryAfterMs } from '../retry-after.ts'

export interface ClientPackage {
  readonly description: Description
  readonly bytes: Buffer
}

export interface Client {
  /** Returns undefined if this program has no package. */
  find(): ClientPackage | undefined
  /** @throws unavailable */
  get(): ClientPackage
}

/** Reads the package in `folder`; by default the one that was built with this program. */
export function createClient(folder: string | undefined): Client {
  let isRead = false
  let found: ClientPackage | undefined
  const find = () => {
    if (!isRead) found = read(folder ?? builtFolder())
    isRead = true
    return found
  }
  return {
    find,
    get: () => {
      const known = find()
      if (known !== undefined) return known
      const message = 'This node has no client package. `npm run build` makes it; then start the node again.'
      throw new ApiError('unavailable', { message, retryAfterMs: retryAfterMs.otherParty })
    },
  }
}

const named = /^agent-bridge-client-.+-([0-9a-f]{8})\.tgz$/

function read(folder: string | undefined): ClientPackage | undefined {
  const files = folder === undefined ? [] : filesOf(folder)
  for (const file of files) {
    const [, hash] = named.exec(file) ?? []
    if (hash === undefined || folder === undefined) continue
    const bytes = readFileSync(join(folder, file))
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    // A file that was cut off is not handed out.
    if (!sha256.startsWith(hash)) continue
    return { description: { version, file, sha256, size: bytes.length, node: oldestNode }, bytes }
  }
  return undefined
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function builtFolder(): string | undefined {
  if (build.commit !== 'source') return join(import.meta.dirname, 'client')
  const root = join(import.meta.dirname, '../..')
  const folder = join(root, 'dist/client')
  const built = statSync(folder, { throwIfNoEntry: false })?.mtimeMs
  return built === undefined || sources(root).some((path) => changedAt(path) > built) ? undefined : folder
}

const sources = (root: string): string[] =>
  globSync('{cli,helper,sdk}/**/*.ts', { cwd: root }).map((path) => join(root, path))

const changedAt = (path: string): number => statSync(path).mtimeMs
