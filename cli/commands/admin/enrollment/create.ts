/**
 * `bridge admin enrollment create`: prints the prompt that connects an agent.
 *
 * The prompt has a single-use code. It is printed once, on standard output, and stored nowhere.
 *
 * Contract §4.
 */
import type { EnrollmentInput } from '../../../../sdk/index.ts'
import { type Command, command, oneOf, seconds } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner, confirmed, type PasswordOption } from '../../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'

const bindings = ['key', 'device'] as const
const scopes = ['messages', 'tasks', 'transfers', 'messages:read', 'tasks:read', 'transfers:read'] as const
type Scope = (typeof scopes)[number]

export interface CreateEnrollmentOptions extends ProjectOption, PasswordOption {
  binding: (typeof bindings)[number]
  ttl?: number
  scope?: Scope[]
  keepExisting?: true
}

export function createEnrollmentCommand(context: CliContext, run = createEnrollment): Command {
  const create = command('create', 'bridge admin enrollment create ada')
    .description(
      'Print a single-use prompt to paste into the coding agent. Earlier pending enrolments of the agent are revoked.',
    )
    .argument('<agent>', 'name or id')
    .option('--binding <kind>', 'key, or device to bind it to one machine', oneOf(bindings), 'key' as const)
    .option('--ttl <duration>', 'how long the code is valid, 1m to 1d (default 1h)', seconds)
    .option('--scope <scope>', `what the agent may do, repeatable: ${scopes.join(', ')}`, gatherScopes)
    .option('--keep-existing', "keep the agent's earlier credentials; otherwise the new one replaces them")
    .option('--password-stdin', 'read the password from standard input, for a sign-in older than ten minutes')
  return withProject(create).action((agent: string, options: CreateEnrollmentOptions) =>
    run(context, agent, options),
  )
}

const gatherScopes = (text: string, before: readonly Scope[] | undefined): Scope[] => [
  ...(before ?? []),
  oneOf(scopes)(text),
]

export const createEnrollment = (
  context: CliContext,
  agent: string,
  options: CreateEnrollmentOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const agentId = await findAgent(owner, project, agent, context)
    const issued = await confirmed(context, owner, options, () =>
      owner.enrollments.create(project.id, agentId, inputOf(options), { signal: context.signal }),
    )
    context.output.saw(issued)
    context.output.note(`works once, until ${issued.expires_at}; enrollment ${issued.enrollment_id}`)
    context.output.result(issued, issued.prompt.trimEnd())
  })

const inputOf = ({ binding, ttl, scope, keepExisting }: CreateEnrollmentOptions): EnrollmentInput => ({
  binding,
  ...(ttl === undefined ? {} : { ttl_seconds: ttl }),
  ...(scope === undefined ? {} : { scopes: scope }),
  ...(keepExisting === undefined ? {} : { keep_existing: true }),
})
