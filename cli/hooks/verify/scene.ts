/** Facts and helpers that all stages of `hooks verify` share. */
import type { Environment } from '../../context.ts'
import type { ExitName } from '../../exit-codes.ts'
import type { Finding } from '../../failures/findings.ts'
import type { HarnessName } from '../harnesses.ts'
import type { Machine } from '../install/places.ts'
import type { Installation } from '../install/record.ts'
import { type Ended, endOf } from './processes.ts'

export interface VerifyScene {
  readonly harness: HarnessName
  readonly installed: Installation
  readonly machine: Machine
  /** Folder of all profiles. */
  readonly home: string
  /** Profile of the session, and the one that writes to it. */
  readonly profile: string
  readonly sender: string
  /** Id of the agent of the profile. */
  readonly agentId: string
  /** Program of the harness. */
  readonly program: string
  /** Private folder that is removed afterwards. */
  readonly scratch: string
  readonly inPlace: boolean
  readonly nowMs: () => number
  readonly signal: AbortSignal
}

export const problem = (check: string, text: string, remedy: string, exit: ExitName): Finding => ({
  ...{ check, state: 'problem', text, remedy, exit },
})

/** Environment of processes with the profile of the session. */
export const environmentOf = ({ machine, home, profile }: VerifyScene): Environment => ({
  ...machine.environment,
  BRIDGE_HOME: home,
  BRIDGE_PROFILE: profile,
})

/** Runs our own program with a profile. */
export function bridge(scene: VerifyScene, profile: string, args: readonly string[]): Promise<Ended> {
  const { machine, signal } = scene
  const words = [machine.program, ...args, '--profile', profile, '--json']
  return endOf(machine.node, words, { environment: environmentOf(scene), signal, timeoutMs: 30_000 })
}

/** A message from the sender. */
export interface Probe {
  readonly id: string
  /** A word that is in the body only. */
  readonly mark: string
}

/** Sends a message with an unusual word. Returns the finding if it could not be stored. */
export async function sendProbe(scene: VerifyScene, mark: string): Promise<Probe | Finding> {
  const text = `Test message of bridge hooks verify: ${mark}. It needs no answer.`
  const { code, stdout, stderr } = await bridge(scene, scene.sender, ['send', scene.agentId, text])
  if (code === 0) return { id: (JSON.parse(stdout) as { message: { id: string } }).message.id, mark }
  const [why = ''] = stderr.split('\n')
  return problem(
    'probe',
    `${scene.sender} cannot send to ${scene.profile}: ${why.replace(/^bridge: /, '')}`,
    'name a profile that may write to it with --from',
    'conflict',
  )
}

/** Whether the sender sees the message acknowledged. */
export async function isAcknowledged(scene: VerifyScene, { id }: Probe): Promise<boolean> {
  const { code, stdout } = await bridge(scene, scene.sender, ['status', id])
  if (code !== 0) return false
  const { delivery } = JSON.parse(stdout) as { delivery: { acknowledged_at: string | null } }
  return delivery.acknowledged_at !== null
}
