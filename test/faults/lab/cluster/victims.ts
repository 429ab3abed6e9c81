/** The processes of a harness that a test kills. */
import { type Chance, pick } from '../../../support/chance.ts'
import type { Harness } from './harness.ts'

export const victims = ['node', 'balancer', 'node', 'objects', 'node', 'standby', 'primary'] as const
export type Victim = (typeof victims)[number]

/**
 * Kills a process and starts what must come back. `meanwhile` runs before a killed node starts again, or
 * before the new primary has a standby.
 */
export async function killOne(
  harness: Harness,
  victim: Victim,
  chance: Chance,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  if (victim === 'node') return harness.killNode(pick(chance, [0, 1, 2]) ?? 0, meanwhile)
  if (victim === 'balancer') return harness.killBalancer()
  if (victim === 'objects') return harness.killObjectStore()
  if (victim === 'standby') return harness.killStandby()
  await harness.failOver()
  await meanwhile()
  await harness.followUp()
}
