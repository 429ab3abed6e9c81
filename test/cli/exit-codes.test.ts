/** The exit codes are frozen, because programs and hooks depend on them. Contract §12. */
import { expect, test } from 'vitest'
import { onHost } from '../../cli/commands/server/settings.ts'
import { exitCodes, localExits, refusalExits } from '../../cli/exit-codes.ts'
import { errors } from '../../sdk/contract/errors.ts'
import { localErrors } from '../../sdk/transport/failures.ts'
import { MigrationHistoryError, NewerDatabaseError } from '../../server/database/migration-history.ts'
import { UnsafeStoreError } from '../../server/database/sqlite/open.ts'
import {
  BackupInterruptedError,
  DamagedDatabaseError,
  DatabaseInUseError,
  DestinationExistsError,
  NoSpaceError,
  PathMissingError,
} from '../../server/host/backups/errors.ts'
import { RestoreUnfinishedError } from '../../server/storage/data-folder.ts'

test('the exit codes are those of the contract', () => {
  expect(exitCodes).toEqual({
    done: 0,
    unexpected: 1,
    usage: 2,
    not_found: 3,
    nothing_came: 4,
    authentication: 5,
    session: 6,
    conflict: 7,
    guard: 8,
    unreachable: 9,
    nobody_listening: 10,
    claim_lost: 11,
    already_listening: 12,
    sandbox: 13,
    clock_skew: 14,
    integrity: 15,
    interrupted: 130,
  })
})

const codesOf = (table: Readonly<Record<string, keyof typeof exitCodes>>) => {
  const byCode: Record<number, string[]> = {}
  for (const [name, exit] of Object.entries(table)) {
    const code = exitCodes[exit]
    byCode[code] = [...(byCode[code] ?? []), name]
  }
  return byCode
}

test('each refusal of the node has its exit code', () => {
  expect(Object.keys(refusalExits).sort()).toEqual([...Object.keys(errors), 'unrecognized'].sort())
  expect(codesOf(refusalExits)).toEqual({
    1: ['unrecognized', 'method_not_allowed', 'internal'],
    2: ['body_too_large', 'invalid_request', 'manifest_invalid'],
    3: ['not_found'],
    5: [
      'unauthenticated',
      'credential_unknown',
      'credential_revoked',
      'credential_expired',
      'signature_invalid',
      'signature_required',
      'request_replayed',
      'device_mismatch',
      'challenge_invalid',
      'grant_invalid',
      'sign_in_failed',
      'owner_session_expired',
      'origin_mismatch',
      'scope_missing',
      'agent_disabled',
      'not_permitted',
      'reauth_required',
      'enrollment_used',
      'enrollment_expired',
      'enrollment_revoked',
    ],
    6: ['session_active', 'session_fenced', 'session_closed', 'session_unknown', 'takeover_pending'],
    7: [
      'idempotency_conflict',
      'state_conflict',
      'claim_held',
      'recipient_key_conflict',
      'project_paused',
      'name_taken',
      'pairing_disabled',
      'offer_expired',
      'package_removed',
      'project_archived',
      'setup_done',
      'transfer_busy',
    ],
    8: ['rate_limited', 'wait_limit', 'conversation_budget'],
    9: ['unavailable', 'capacity_reached', 'storage_full'],
    11: ['claim_lost'],
    14: ['clock_skew'],
    15: ['part_mismatch', 'receipt_mismatch'],
  })
})

test('each local failure has its exit code', () => {
  expect(Object.keys(localExits).sort()).toEqual(Object.keys(localErrors).sort())
  expect(codesOf(localExits)).toEqual({
    1: ['storage_failed'],
    2: ['invalid_url', 'insecure_url', 'name_ambiguous', 'not_asked', 'not_sendable'],
    3: ['peer_unknown', 'name_unknown'],
    4: ['no_answer', 'task_unfinished'],
    5: ['identity_missing', 'identity_unreadable', 'key_missing'],
    7: ['entry_of_another', 'destination_exists', 'transfer_in_use', 'transfer_expired'],
    9: ['unreachable', 'timeout', 'bad_response', 'redirected', 'certificate_refused', 'capability_off'],
    13: ['sandbox_blocked'],
    15: ['integrity'],
    130: ['aborted'],
  })
})

test.each([
  [new NewerDatabaseError('the database is newer'), 'conflict', /install that version/],
  [new MigrationHistoryError('another history'), 'conflict', /data folder/],
  [new UnsafeStoreError('no room'), 'unexpected', undefined],
  [new DestinationExistsError('it is there'), 'conflict', /another file/],
  [new PathMissingError('no folder'), 'not_found', undefined],
  [new NoSpaceError('too little'), 'unexpected', /free some space/],
  [new BackupInterruptedError('the log grew'), 'unexpected', /stop the server/],
  [new DamagedDatabaseError('a page'), 'integrity', /bridge server restore/],
  [new DatabaseInUseError('a maintenance run'), 'conflict', /wait for the running/],
  [new RestoreUnfinishedError('cut off'), 'conflict', /bridge server start/],
] as const)('host work that ends with %s is told', async (error, exit, hint) => {
  const failing = onHost(async () => {
    throw error
  })
  await expect(failing).rejects.toMatchObject({
    name: 'CommandError',
    exit,
    message: error.message,
    hint: hint === undefined ? undefined : expect.stringMatching(hint),
  })
})
