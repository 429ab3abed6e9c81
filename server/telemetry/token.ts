/**
 * The token with which hosts report: 256 bits, made on the node's host, stored as a hash. There is one token;
 * a new one replaces it.
 *
 * Contract §11 "bearer telemetry token, from `bridge server telemetry-token`".
 */

import { recordAudit, systemActor } from '../audit/store.ts'
import { nodeLane } from '../database/lanes.ts'
import type { Writer } from '../database/writer.ts'
import { tokenDigest } from '../identity/owner.ts'

interface Maker {
  readonly write: Writer['write']
  readonly random: (bytes: number) => Buffer
}

export function makeTelemetryToken({ write, random }: Maker): Promise<string> {
  const token = random(32).toString('base64url')
  return write(nodeLane, async (tx) => {
    const row = { token_sha256: tokenDigest(token), created_at: tx.nowIso }
    await tx.db
      .insertInto('telemetry_token')
      .values({ one: 1, ...row })
      .onConflict((conflict) => conflict.column('one').doUpdateSet(row))
      .execute()
    await recordAudit(tx, {
      kind: 'telemetry.token_issued',
      actor: systemActor,
      project_id: null,
      subject: { type: 'telemetry_token', id: null },
    })
    return token
  })
}
