/** Agents of a real server, each with a profile of a TestHome. */
import type { TestBridge } from './bridge.ts'
import type { Ended, RunOptions } from './test-home.ts'

/** A machine with profiles whose commands run as separate processes or in this one. */
export interface Machine {
  run(args: readonly string[], options?: RunOptions): Promise<Ended>
}

export interface Enrolled {
  readonly id: string
  readonly name: string
  /** Runs a command with this profile. */
  bridge(...args: string[]): Promise<Ended>
  /** Runs a command that must succeed; returns its JSON lines. */
  lines<T>(...args: string[]): Promise<T[]>
}

export async function enrolled(bridge: TestBridge, home: Machine, name: string): Promise<Enrolled> {
  const { id } = await bridge.owner.createAgent(bridge.project.id, name)
  await enrollAgain(bridge, home, { id, name })
  const run = (...args: string[]) => home.run([...args, '--profile', name])
  return {
    id,
    name,
    bridge: run,
    lines: async (...args) => {
      const { code, stdout, stderr } = await run(...args, '--json')
      if (code !== 0) throw new Error(`bridge ${args.join(' ')} exited ${code}: ${stderr}`)
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
    },
  }
}

/** Enrolls the same agent again; the profile of its name claims the code. */
export async function enrollAgain(
  bridge: TestBridge,
  home: Machine,
  agent: { readonly id: string; readonly name: string },
  ...more: string[]
): Promise<Ended> {
  const code = await bridge.owner.enrollmentCode(bridge.project.id, agent.id)
  const ended = await home.run(['enroll', '--url', bridge.url, '--profile', agent.name, ...more], {
    stdin: `${code}\n`,
  })
  if (ended.code !== 0) throw new Error(`bridge enroll exited ${ended.code}: ${ended.stderr}`)
  return ended
}

/** The id in the JSON that `bridge send --json` printed. */
export const storedId = ({ stdout }: Ended): string => {
  const { message } = JSON.parse(stdout) as { readonly message: { readonly id: string } }
  return message.id
}
