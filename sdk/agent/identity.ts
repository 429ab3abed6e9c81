/**
 * Who an agent is: ids, key pair, device; and what proves it on a request.
 *
 * - The installation is pinned: its id is part of every signed text, so a proof for one node is useless at another.
 * - The private key or secret is never a property: inspecting, logging or serializing an identity shows ids only.
 *
 * Contract §3.
 */
import type { KeyObject } from 'node:crypto'
import { inspect } from 'node:util'
import type { EnrollmentClaimed } from '../contract/agent/enrollments.ts'
import { headers } from '../contract/headers.ts'
import { type RequestParts, requestV1, requestV2 } from '../signing/canonical.ts'
import { sign } from '../signing/proof.ts'

/** What a claimed enrolment told, less the moment of it. */
export type IdentityRecord = Omit<EnrollmentClaimed, 'server_time'>

/** What proves an identity: its key, its key on its device, or a legacy secret. */
export type IdentityProof =
  | { readonly privateKey: KeyObject; readonly device?: string | undefined }
  | { readonly secret: string }

/** The parts of a request's text that the identity doesn't know itself. */
export type RequestToProve = Omit<RequestParts, 'serverId' | 'credentialId'>

export class Identity {
  /** Ids and names, as the node told them at enrolment; no secret. */
  readonly record: IdentityRecord
  readonly #proof: IdentityProof

  /** @throws TypeError when the proof is not of the record's binding. */
  constructor(record: IdentityRecord, proof: IdentityProof) {
    const kind = 'secret' in proof ? 'legacy' : proof.device === undefined ? 'key' : 'device'
    if (kind !== record.binding) throw new TypeError(`a ${record.binding}-bound identity needs its own proof`)
    this.record = record
    this.#proof = proof
  }

  /** The agent's id. */
  get agentId(): string {
    return this.record.agent.id
  }

  /** The headers that authorize one attempt. */
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

  /** The record: no secret is ever serialized. */
  toJSON(): IdentityRecord {
    return this.record
  }

  [inspect.custom](): string {
    const { agent, project, credential_id: credentialId } = this.record
    return `Identity { ${agent.name} in ${project.name}, credential ${credentialId} }`
  }
}
