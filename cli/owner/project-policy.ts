/** Options for the policy of a project, of `project create` and `project change`. Contract §10. */
import type { ProjectPolicy } from '../../sdk/index.ts'
import { type Command, seconds, wholeNumber } from '../command.ts'

type ParsedBy<T> = (parse: (text: string) => number) => (text: string) => number | T

export interface PolicyOptions<T = never> {
  idleSeconds?: number | T
  emptyPolls?: number | T
  messageBudget?: number | T
  retentionDays?: number | T
  auditDays?: number | T
}

/** Adds the options. `parsedBy` may accept further values, and `more` describes them. */
export const withPolicy = <T = never>(
  to: Command,
  parsedBy: ParsedBy<T> = (parse) => parse,
  more = '',
): Command =>
  to
    .option(
      '--idle-seconds <duration>',
      `agents stop listening after this long without a message${more}`,
      parsedBy(seconds),
    )
    .option(
      '--empty-polls <count>',
      `agents stop listening after this many empty polls${more}`,
      parsedBy(wholeNumber(1, 1e6)),
    )
    .option(
      '--message-budget <count>',
      `messages of an agent to a peer in ten minutes${more}`,
      parsedBy(wholeNumber(1, 1e6)),
    )
    .option(
      '--retention-days <days>',
      `how long acknowledged messages are kept${more}`,
      parsedBy(wholeNumber(1, 36_500)),
    )
    .option('--audit-days <days>', `how long audit records are kept${more}`, parsedBy(wholeNumber(1, 36_500)))

/** Returns only the given limits, `default` as null. The node has defaults for the rest. */
export function policyOf(options: PolicyOptions<'default'>): { policy?: Partial<ProjectPolicy> } {
  const wished = {
    idle_seconds: options.idleSeconds,
    empty_polls: options.emptyPolls,
    message_budget: options.messageBudget,
    retention_days: options.retentionDays,
    audit_days: options.auditDays,
  }
  const given = Object.entries(wished)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, value === 'default' ? null : value])
  return given.length === 0 ? {} : { policy: Object.fromEntries(given) }
}
