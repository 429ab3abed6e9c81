/**
 * Session challenges: proof that a device-bound start was signed now, not prepared in advance.
 *
 * 256 bits, 60 seconds, one use, bound to the credential and the device; only the hash is stored. A use is deleted in
 * the transaction of the session's start, so a start that fails for another reason leaves it usable.
 *
 * Spec §4.2; contract §5.
 */
import { hash } from 'node:crypto'
import type { Challenge } from '../../sdk/contract/agent/sessions.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { parseDevice } from '../../sdk/signing/device.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'
import { type Admitted, writeAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'

const digest = (challenge: string) => hash('sha256', challenge, 'buffer')

/** What of a device must match: the operating system may be renamed by an upgrade. */
function deviceKey(header: string | undefined): string {
  const device = parseDevice(header ?? '')
  return device === undefined ? '' : JSON.stringify([device.machine, device.install])
}

/** @throws state_conflict for an identity that is not device-bound */
export function issueChallenge(context: Context, caller: AgentCaller): Promise<Challenge> {
  const challenge = context.random(32).toString('base64url')
  return writeAs(context, caller, async (tx, agent) => {
    if (agent.binding !== 'device') {
      throw new ApiError('state_conflict', {
        message: 'Only a device-bound identity needs a challenge; start the session without one.',
        details: { state: agent.binding },
      })
    }
    await tx.db.deleteFrom('challenges').where('expires_at', '<=', tx.steadyIso).execute()
    const expires_at = tx.endIn(limits.challengeSeconds)
    await tx.db
      .insertInto('challenges')
      .values({
        challenge_sha256: digest(challenge),
        credential_id: agent.credential_id,
        device: deviceKey(caller.device),
        expires_at,
      })
      .execute()
    return { challenge, expires_at: context.steady.wall(expires_at) }
  })
}

/** @throws challenge_invalid, invalid_request when an identity that needs none sends one */
export async function requireChallenge(
  tx: Tx,
  caller: AgentCaller,
  agent: Admitted,
  challenge: string | undefined,
): Promise<void> {
  if (agent.binding !== 'device') {
    if (challenge === undefined) return
    const problem = 'is only for device-bound identities'
    throw new ApiError('invalid_request', {
      message: `body/challenge ${problem}.`,
      details: { faults: [{ path: 'body/challenge', problem }] },
    })
  }
  const used = await tx.db
    .deleteFrom('challenges')
    .where('challenge_sha256', '=', digest(challenge ?? ''))
    .where('credential_id', '=', agent.credential_id)
    .where('device', '=', deviceKey(caller.device))
    .where('expires_at', '>', tx.steadyIso)
    .executeTakeFirst()
  if (used.numDeletedRows !== 1n) throw new ApiError('challenge_invalid')
}
