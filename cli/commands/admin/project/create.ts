/** `bridge admin project create`. Contract §10. */
import type { Project, ProjectPolicy } from '../../../../sdk/index.ts'
import { type Command, command, seconds, wholeNumber } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'

export interface CreateProjectOptions {
  description?: string
  idleSeconds?: number
  emptyPolls?: number
  messageBudget?: number
  retentionDays?: number
  auditDays?: number
}

export function createProjectCommand(context: CliContext, run = createProject): Command {
  return command('create', 'bridge admin project create demo')
    .description('Create a project, which is active immediately.')
    .argument('<name>', 'unique on this node')
    .option('--description <text>', 'purpose of the project')
    .option('--idle-seconds <duration>', 'agents stop listening after this long without a message', seconds)
    .option('--empty-polls <count>', 'agents stop listening after this many empty polls', wholeNumber(1, 1e6))
    .option('--message-budget <count>', 'messages of an agent to a peer in ten minutes', wholeNumber(1, 1e6))
    .option('--retention-days <days>', 'how long acknowledged messages are kept', wholeNumber(1, 36_500))
    .option('--audit-days <days>', 'how long audit records are kept', wholeNumber(1, 36_500))
    .action((name: string, options: CreateProjectOptions) => run(context, name, options))
}

export const createProject = (
  context: CliContext,
  name: string,
  options: CreateProjectOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const { description } = options
    const input = { name, ...policyOf(options), ...(description === undefined ? {} : { description }) }
    const project: Project = await owner.projects.create(input, { signal: context.signal })
    context.output.result(project, `created the project ${project.name}, ${project.id}`)
  })

/** Returns only the given limits. The node has defaults for the rest. */
function policyOf(options: CreateProjectOptions): { policy?: Partial<ProjectPolicy> } {
  const wished = {
    idle_seconds: options.idleSeconds,
    empty_polls: options.emptyPolls,
    message_budget: options.messageBudget,
    retention_days: options.retentionDays,
    audit_days: options.auditDays,
  }
  const given = Object.entries(wished).filter(([, value]) => value !== undefined)
  return given.length === 0 ? {} : { policy: Object.fromEntries(given) }
}
