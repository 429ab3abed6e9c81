/** Two versions of the node, each a process with its own copy of one installation. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { populate } from '../../support/population.ts'
import { type Measured, startNode } from '../measured.ts'
import { type Pair, pairsIn } from '../messages/world.ts'

export interface Versions {
  readonly product: Measured
  /** The earlier version. */
  readonly floor: Measured
  readonly senders: readonly Pair[]
  readonly readers: readonly Pair[]
  /** Pairs of two agents and one project each. */
  readonly workers: readonly Pair[]
  end(): Promise<void>
}

const senderCount = 128
const readerCount = 32
const root = fileURLToPath(new URL('../../..', import.meta.url))

export async function openVersions(commit: string, workerCount: number): Promise<Versions> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-earlier-'))
  const started: Measured[] = []
  const end = async () => {
    for (const each of started) await each.end()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const earlier = build(commit, join(folder, 'tree'))
    const [before, now] = [join(folder, 'before'), join(folder, 'now')]
    execFileSync(process.execPath, [earlier, 'server', 'init', '--json', '--data', before], { stdio: 'pipe' })
    const count = senderCount + readerCount
    const people = populate(before, 2 * count, count)
    const apart = Array.from({ length: workerCount }, () => populate(before, 2, 1))
    const serverId = serverIdOf(before)
    cpSync(before, now, { recursive: true })
    const floor = await startNode(before, {}, earlier)
    started.push(floor)
    const product = await startNode(now)
    started.push(product)
    const pairs = pairsIn(people, count, serverId)
    return {
      ...{ product, floor, end },
      senders: pairs.slice(0, senderCount),
      readers: pairs.slice(senderCount),
      workers: apart.flatMap((each) => pairsIn(each, 1, serverId)),
    }
  } catch (error) {
    await end()
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
