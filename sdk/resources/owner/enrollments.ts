/**
 * Enrolments: a single-use prompt with which an agent registers its public key as its credential. Contract
 * §4.
 */
import type { ResponseOf } from '../../contract/endpoint.ts'
import { limits } from '../../contract/limits.ts'
import {
  type Enrollment,
  type EnrollmentInput,
  type EnrollmentIssued,
  type EnrollmentStatus,
  enrollments as entries,
} from '../../contract/owner/enrollments.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type OfAgent, type Ordered, type PageOptions } from '../call.ts'

export interface EnrollmentFilter extends OfAgent {
  readonly state?: Enrollment['state'] | undefined
}

export class OwnerEnrollments {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Issues a prompt with a single-use code. The agent's pending enrolments are revoked.
   *
   * Only this answer contains the code; the node stores only its hash.
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

  /** Reads the state of an enrolment: pending, claimed, expired or revoked. @throws not_found */
  get(
    projectId: string,
    agentId: string,
    enrollmentId: string,
    options: CallOptions = {},
  ): Promise<EnrollmentStatus> {
    const params = { id: projectId, agent_id: agentId, enrollment_id: enrollmentId }
    return this.#call(entries.get, { params }, options)
  }

  /** Reads one page of a project's enrolments, without their codes. @throws not_found */
  list(
    projectId: string,
    {
      after,
      limit,
      order,
      agentId,
      state,
      ...options
    }: PageOptions & Ordered & EnrollmentFilter & CallOptions = {},
  ): Promise<ResponseOf<typeof entries.list>> {
    const query = given({ after, limit, order, agent_id: agentId, state })
    return this.#call(entries.list, { params: { id: projectId }, query }, options)
  }

  /** Every enrolment of a project, page after page. @throws not_found */
  all(
    projectId: string,
    options: EnrollmentFilter & Ordered & CallOptions = {},
  ): AsyncGenerator<Enrollment, void, undefined> {
    const read = (after: string | undefined) =>
      this.list(projectId, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.enrollments)
  }

  /** Reads one enrolment of any agent of the project, without its code. @throws not_found */
  read(projectId: string, enrollmentId: string, options: CallOptions = {}): Promise<Enrollment> {
    return this.#call(entries.read, { params: { id: projectId, enrollment_id: enrollmentId } }, options)
  }

  /**
   * Revokes a pending enrolment. Repeating it has no effect.
   *
   * @throws state_conflict if it was claimed or has expired; not_found
   */
  revoke(projectId: string, enrollmentId: string, options: CallOptions = {}): Promise<Enrollment> {
    const params = { id: projectId, enrollment_id: enrollmentId }
    return this.#call(entries.revoke, { params, body: {} }, options)
  }
}
