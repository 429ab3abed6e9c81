/** The container engine of the machine: Podman with podman-compose, or else Docker with its plugin. */
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

const inBackground = promisify(execFile)

export interface Engine {
  readonly name: 'podman' | 'docker'
  /** Stands for `docker compose` of the headings. */
  readonly compose: string
  /** Runs a command of the engine and returns its standard output; rejects if it fails. */
  run(...words: string[]): Promise<string>
  /** Runs commands in a shell and returns both outputs. */
  shell(commands: string, folder: string): Promise<string>
}

const answers = (command: string, ...words: string[]) => spawnSync(command, words).status === 0

/** Podman builds images of Docker's format, as the Containerfile asks: the other one has no health check. */
function environment(): NodeJS.ProcessEnv {
  // The temporary folder of the tests is in memory, and small beside an image.
  const { TMPDIR: _folder, ...rest } = process.env
  return { ...rest, BUILDAH_FORMAT: 'docker' }
}

function engine(name: Engine['name'], compose: string): Engine {
  const options = { maxBuffer: 64 * 1024 * 1024 }
  return {
    name,
    compose,
    run: async (...words) =>
      (await inBackground(name, words, { ...options, env: environment() })).stdout.trim(),
    shell: async (commands, cwd) => {
      const { stdout, stderr } = await inBackground('sh', ['-euc', commands], {
        ...options,
        cwd,
        env: environment(),
      })
      return stdout + stderr
    },
  }
}

const hasPodman = answers('podman', '--version') && answers('podman-compose', '--version')
const hasDocker = !hasPodman && answers('docker', 'info') && answers('docker', 'compose', 'version')

export const installed: Engine | undefined = hasPodman
  ? engine('podman', 'podman-compose')
  : hasDocker
    ? engine('docker', 'docker compose')
    : undefined
