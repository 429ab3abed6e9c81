/**
 * `node test/endurance.ts [--runs 20] [--seed 1] [--mode quiet] [--reports <folder>]`: runs all tests
 * repeatedly.
 *
 * Each run clones the last commit into a temporary folder, installs it, and runs `npm test` with its files in
 * the order of another seed. The first mode is a quiet machine, the second has four busy processes beside it,
 * the third uses one core. It prints one line per run and exits with 1 if one failed. `--seed` sets the first
 * seed, `--mode` restricts it to one mode, and `--reports` is the folder for the output and the report of
 * each failed run.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))

/** A command that runs `npm test`, and the number of busy processes beside it. */
const modes = {
  quiet: { under: [], busy: 0 },
  busy: { under: [], busy: 4 },
  'one-core': { under: ['taskset', '-c', '0'], busy: 0 },
} as const satisfies Record<string, { under: readonly string[]; busy: number }>
type Mode = keyof typeof modes

/** The loop ends with the process that started it, however that one ended. */
const busyLoop =
  'const parent = process.ppid; while (process.ppid === parent) { const end = Date.now() + 500; while (Date.now() < end); }'

interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

/** Each leads a separate process group. */
const running = new Set<ChildProcess>()
const folders = new Set<string>()

function cleanUp(): void {
  for (const { pid } of running) killGroup(pid)
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}

function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL')
  } catch {
    // Every process of the group has ended.
  }
}

function start(folder: string, [command = '', ...args]: readonly string[]): ChildProcess {
  const temporary = join(folder, 't')
  // Without NODE_EXTRA_CA_CERTS, npm retries for minutes behind a proxy with an authority of its own.
  const dropped = /^(BRIDGE_|NODE_(?!EXTRA_CA_CERTS$)|npm_|VITEST)/i
  const kept = Object.entries(process.env).filter(([name]) => !dropped.test(name))
  const child = spawn(command, args, {
    cwd: join(folder, 'clone'),
    detached: true,
    env: { ...Object.fromEntries(kept), TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Runs a command until it exits, or for one hour, with its output in a file of the folder. */
async function finish(folder: string, words: readonly string[]): Promise<number | null> {
  const child = start(folder, words)
  const output = createWriteStream(join(folder, 'output.txt'), { flags: 'a' })
  child.stdout?.pipe(output, { end: false })
  child.stderr?.pipe(output, { end: false })
  const limit = setTimeout(() => killGroup(child.pid), 3_600_000)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(limit)
  killGroup(child.pid)
  await new Promise<void>((resolve) => output.end(resolve))
  return code
}

async function runOnce(commit: string, mode: Mode, seed: number) {
  // Sockets are created below it, and their paths must be short.
  const folder = mkdtempSync(join(tmpdir(), 'e-'))
  folders.add(folder)
  // Some tests start programs as another user.
  chmodSync(folder, 0o755)
  mkdirSync(join(folder, 't'))
  const clone = join(folder, 'clone')
  execFileSync('git', ['clone', '--quiet', '--no-local', '--no-checkout', root, clone])
  execFileSync('git', ['-C', clone, 'checkout', '--quiet', '--detach', commit])
  const installed = await finish(folder, ['npm', 'ci', '--no-audit', '--no-fund'])
  if (installed !== 0) return { folder, seconds: 0, code: installed, report: undefined }

  const { under, busy } = modes[mode]
  const loops = Array.from({ length: busy }, () => start(folder, [process.execPath, '-e', busyLoop]))
  const began = performance.now()
  const order = ['--sequence.shuffle.files', `--sequence.seed=${seed}`]
  const code = await finish(folder, [...under, 'npm', 'test', '--', ...order])
  const seconds = Math.round((performance.now() - began) / 1000)
  for (const { pid } of loops) killGroup(pid)
  const path = join(clone, 'coverage/tests.json')
  const report = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Report) : undefined
  return { folder, seconds, code, report }
}

/** Returns the failed tests, and each file that failed outside its tests. */
function failuresOf({ testResults }: Report): string[] {
  return testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, assertionResults }) => {
      const file = name.slice(name.indexOf('/clone/') + '/clone/'.length)
      const failed = assertionResults.filter(({ status }) => status === 'failed')
      return failed.length === 0 ? [file] : failed.map(({ fullName }) => `${file}: ${fullName}`)
    })
}

function keep(folder: string, reports: string, name: string): void {
  mkdirSync(reports, { recursive: true })
  for (const [from, ending] of [
    ['output.txt', 'txt'],
    ['clone/coverage/tests.json', 'json'],
  ] as const)
    if (existsSync(join(folder, from))) copyFileSync(join(folder, from), join(reports, `${name}.${ending}`))
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '20' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
      mode: { type: 'string' },
      reports: { type: 'string' },
    },
  })
  const hasCores = process.platform === 'linux' && spawnSync('taskset', ['-c', '0', 'true']).status === 0
  const all = (Object.keys(modes) as Mode[]).filter((mode) => hasCores || mode !== 'one-core')
  const chosen = values.mode === undefined ? all : all.filter((mode) => mode === values.mode)
  if (chosen.length === 0) throw new Error(`no mode ${values.mode}; there are ${all.join(', ')}`)
  const commit = execFileSync('git', ['-C', root, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()
  say(`${values.runs} runs of ${commit.slice(0, 10)}, ${chosen.join(', ')} in turn`)
  for (let index = 0; index < Number(values.runs); index += 1) {
    const mode = chosen[index % chosen.length] ?? 'quiet'
    const seed = Number(values.seed) + index
    const { folder, seconds, code, report } = await runOnce(commit, mode, seed)
    const { numPassedTests = 0, numFailedTests = 0, numPendingTests = 0 } = report ?? {}
    const failures = report === undefined ? [] : failuresOf(report)
    if (code !== 0 && failures.length === 0) failures.push(`npm ended with ${code}`)
    const counts = `${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`
    say([`${index + 1} ${mode} seed ${seed}: ${seconds} s, ${counts}`, ...failures].join('; '))
    if (failures.length > 0) process.exitCode = 1
    if (failures.length > 0 && values.reports) keep(folder, values.reports, `${mode}-${seed}`)
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    folders.delete(folder)
  }
}

const say = (line: string): unknown => process.stdout.write(`${line}\n`)

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
process.once('exit', cleanUp)
await main()
