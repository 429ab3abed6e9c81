/** A new agent with its prompt, which holds a code that works once. */
import type { Agent, EnrollmentIssued } from '../../../../../sdk/browser.ts'

export interface Enrolled {
  readonly agent: Agent
  readonly issued: EnrollmentIssued
}
