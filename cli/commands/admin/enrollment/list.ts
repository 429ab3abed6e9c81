/** `bridge admin enrollment list`: enrolments without their codes. Contract §4. */
import type { Enrollment } from '../../../../sdk/index.ts'
import { type Command, command, oneOf } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import {
  agentNames,
  findAgent,
  findProject,
  gathered,
  type ProjectOption,
  withProject,
} from '../../../owner/names.ts'
import { type NewestOption, orderOf, withNewest } from '../../../owner/order.ts'
import { whole } from '../../../owner/text.ts'

type State = Enrollment['state']
const states = ['pending', 'claimed', 'expired', 'revoked'] as const satisfies readonly State[]

export interface ListEnrollmentsOptions extends ProjectOption, NewestOption {
  agent?: string
  state?: State
}

export function listEnrollmentsCommand(context: CliContext, run = listEnrollments): Command {
  const list = command('list', 'bridge admin enrollment list --state pending')
    .description('List the enrolments of a project, without their codes.')
    .option('--agent <agent>', 'only those of this agent: name or id')
    .option('--state <state>', `only those that are ${states.join(', ')}`, oneOf(states))
  return withProject(withNewest(list)).action((options: ListEnrollmentsOptions) => run(context, options))
}

export const listEnrollments = (context: CliContext, options: ListEnrollmentsOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    const { signal, output } = context
    const project = await findProject(owner, options.project, context)
    const agentId = options.agent && (await findAgent(owner, project, options.agent, context))
    const filter = { agentId, state: options.state, ...orderOf(options), signal }
    const enrollments = await gathered(owner.enrollments.all(project.id, filter))
    const nameOf = await agentNames(owner, project, context)
    output.table(
      whole('enrollments', enrollments),
      ['id', 'agent', 'state', 'binding', 'expires', 'claimed'],
      enrollments.map((each) => [
        each.id,
        nameOf(each.agent_id),
        each.state,
        each.binding,
        each.expires_at,
        each.claimed_at ?? '',
      ]),
      'no such enrolments; bridge admin enrollment create creates one',
    )
  })
