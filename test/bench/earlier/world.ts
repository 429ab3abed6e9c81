/** Two versions of the node, each with its own copy of one installation. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { populate } from '../../support/population.ts'
import { type Measured, startNode } from '../measured.ts'
import { type Pair, pairsIn } from '../messages/world.ts'

/** A process of each version. */
export interface Versions {
  readonly product: Measured
  /** The earlier version. */
  readonly floor: Measured
}

export interface Copies {
  readonly senders: readonly Pair[]
  readonly readers: readonly Pair[]
  /** Pairs of two agents and one project each. */
  readonly workers: readonly Pair[]
  /** Starts both versions, each on its own copy, and ends them after `act`. */
  serving<T>(act: (versions: Versions) => Promise<T>): Promise<T>
  remove(): void
}

const senderCount = 128
const readerCount = 32
const root = fileURLToPath(new URL('../../..', import.meta.url))

export async function makeCopies(commit: string, workerCount: number): Promise<Copies> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-earlier-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const earlier = build(commit, join(folder, 'tree'))
    const [before, now] = [join(folder, 'before'), join(folder, 'now')]
    execFileSync(process.execPath, [earlier, 'server', 'init', '--json', '--data', before], { stdio: 'pipe' })
    const count = senderCount + readerCount
    const people = populate(before, 2 * count, count)
    const apart = Array.from({ length: workerCount }, () => populate(before, 2, 1))
    const serverId = serverIdOf(before)
    cpSync(before, now, { recursive: true })
    const pairs = pairsIn(people, count, serverId)
    return {
      senders: pairs.slice(0, senderCount),
      readers: pairs.slice(senderCount),
      workers: apart.flatMap((each) => pairsIn(each, 1, serverId)),
      async serving(act) {
        const floor = await startNode(before, {}, earlier)
        try {
          const product = await startNode(now)
          try {
            return await act({ product, floor })
          } finally {
            await product.end()
          }
        } finally {
          await floor.end()
        }
      },
      remove,
    }
  } catch (error) {
    remove()
    throw error
  }
}

export const isCommit = (commit: string): boolean =>
  spawnSync('git', ['rev-parse', '--verify', '--quiet', '--end-of-options', `${commit}^{commit}`], {
    cwd: root,
  }).status === 0

/** Builds the program of a commit, and returns its file. */
function build(commit: string, tree: string): string {
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 })
  mkdirSync(tree)
  execFileSync('tar', ['-x', '-C', tree], { input: archive })
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  execFileSync(process.execPath, ['esbuild.config.ts', 'dist', '--no-types'], { cwd: tree, stdio: 'pipe' })
  return join(tree, 'dist', 'bridge.cjs')
}

function serverIdOf(data: string): string {
  const database = new Database(join(data, 'bridge.db'), { readonly: true })
  try {
    return database.prepare<[], string>('SELECT server_id FROM server').pluck().get() ?? ''
  } finally {
    database.close()
  }
}
