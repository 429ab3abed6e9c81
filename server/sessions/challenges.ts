/**
 * Session challenges: they prove that the start of a device-bound session was signed now and not in advance.
 *
 * A challenge has 256 bits, is valid for 60 seconds and for one use, and is bound to the credential and the
 * device. Only its hash is stored. It is deleted in the transaction that starts the session, so a start that
 * fails for another reason leaves it usable.
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

/**
 * The part of a device that must match. The operating system is excluded, because an upgrade may rename it.
 */
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

/**
 * Uses up the challenge of a device-bound start. @throws challenge_invalid; invalid_request if another
 * identity sends a challenge
 */
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
