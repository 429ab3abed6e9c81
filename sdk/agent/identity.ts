/**
 * Identity of an agent: ids, key pair, device. It makes the authorization headers of requests.
 *
 * - The node's id is part of every signed text, so a signature for one node is invalid at another.
 * - The private key or secret is held in a private field. Inspecting, logging or serializing an identity
 *   shows ids only.
 *
 * Contract §3.
 */
import type { KeyObject } from 'node:crypto'
import { inspect } from 'node:util'
import type { EnrollmentClaimed } from '../contract/agent/enrollments.ts'
import { headers } from '../contract/headers.ts'
import { type RequestParts, requestV1, requestV2 } from '../signing/canonical.ts'
import { sign } from '../signing/proof.ts'

/** Answer to a claimed enrolment, without its time. */
export type IdentityRecord = Omit<EnrollmentClaimed, 'server_time'>

/** Secret of an identity: its private key, its private key and device, or a legacy secret. */
export type IdentityProof =
  | { readonly privateKey: KeyObject; readonly device?: string | undefined }
  | { readonly secret: string }

/** Parts of the text to sign that the caller provides. The identity adds the ids of node and credential. */
export type RequestToProve = Omit<RequestParts, 'serverId' | 'credentialId'>

export class Identity {
  /** Ids and names from the enrolment. It contains no secret. */
  readonly record: IdentityRecord
  readonly #proof: IdentityProof

  /** @throws TypeError if the proof does not fit the record's binding. */
  constructor(record: IdentityRecord, proof: IdentityProof) {
    const kind = 'secret' in proof ? 'legacy' : proof.device === undefined ? 'key' : 'device'
    if (kind !== record.binding)
      throw new TypeError(`the proof does not fit a ${record.binding}-bound identity`)
    this.record = record
    this.#proof = proof
  }

  /** The agent's id. */
  get agentId(): string {
    return this.record.agent.id
  }

  /** Returns the authorization headers of one attempt. */
  headers(request: RequestToProve): Record<string, string> {
    const { server_id: serverId, credential_id: credentialId } = this.record
    const session = request.session === undefined ? {} : { [headers.session]: request.session }
    if ('secret' in this.#proof) {
      return { [headers.authorization]: `AgentKey ${credentialId}.${this.#proof.secret}`, ...session }
    }
    const { privateKey, device } = this.#proof
    const parts = { ...request, serverId, credentialId }
    const text = device === undefined ? requestV1(parts) : requestV2({ ...parts, device })
    return {
      [headers.authorization]: `AgentKey ${credentialId}`,
      [headers.time]: request.time,
      [headers.nonce]: request.nonce,
      [headers.proof]: sign(privateKey, text),
      ...(device === undefined ? {} : { [headers.device]: device }),
      ...session,
    }
  }

  /** Returns the record, so that JSON never contains the secret. */
  toJSON(): IdentityRecord {
    return this.record
  }

  [inspect.custom](): string {
    const { agent, project, credential_id: credentialId } = this.record
    return `Identity { ${agent.name} in ${project.name}, credential ${credentialId} }`
  }
}
