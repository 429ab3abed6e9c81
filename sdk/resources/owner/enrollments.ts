/** Enrolments: a single-use prompt that turns an agent's key pair into its identity. Contract §4. */
import {
  type EnrollmentInput,
  type EnrollmentIssued,
  type EnrollmentStatus,
  enrollments as entries,
} from '../../contract/owner/enrollments.ts'
import type { CallOptions } from '../../transport/http.ts'
import type { Call } from '../call.ts'

export class OwnerEnrollments {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Issue a prompt with a single-use code; the agent's pending ones are revoked.
   *
   * The answer is the only place where the code ever stands: the node keeps its hash.
   *
   * @throws reauth_required (see `owner.signIn.confirm`), agent_disabled, project_archived, not_found.
   */
  create(
    projectId: string,
    agentId: string,
    input: EnrollmentInput = {},
    options: CallOptions = {},
  ): Promise<EnrollmentIssued> {
    return this.#call(entries.create, { params: { id: projectId, agent_id: agentId }, body: input }, options)
  }

  /** Whether it is pending, claimed, expired or revoked; never the code. @throws not_found */
  get(
    projectId: string,
    agentId: string,
    enrollmentId: string,
    options: CallOptions = {},
  ): Promise<EnrollmentStatus> {
    const params = { id: projectId, agent_id: agentId, enrollment_id: enrollmentId }
    return this.#call(entries.get, { params }, options)
  }
}
