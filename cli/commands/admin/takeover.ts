/**
 * `bridge admin takeover`: ends an agent's session now. Only the holder of the printed grant can start the
 * next one.
 *
 * The grant is printed once, on standard output, and stored nowhere. Contract §5.
 */
import type { TakeoverInput } from '../../../sdk/index.ts'
import { type Command, command, seconds } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { asOwner, confirmed, type PasswordOption } from '../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../owner/names.ts'

export interface TakeoverOptions extends ProjectOption, PasswordOption {
  readonly ttl?: number
  readonly reason?: string
}

export function takeoverCommand(context: CliContext, run = takeover): Command {
  const build = command('takeover', 'bridge admin takeover ada')
    .description('End the session of an agent and print a single-use grant for the next one.')
    .argument('<agent>', 'name or id')
    .option('--ttl <duration>', 'how long the grant is valid, 1m to 1h (default 10m)', seconds)
    .option('--reason <text>', 'reason for the takeover, which the audit stores')
    .option('--password-stdin', 'read the password from standard input, for a sign-in older than ten minutes')
  return withProject(build).action((agent: string, options: TakeoverOptions) => run(context, agent, options))
}

export const takeover = (context: CliContext, agent: string, options: TakeoverOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const agentId = await findAgent(owner, project, agent, context)
    const issued = await confirmed(context, owner, options, () =>
      owner.takeovers.issue(project.id, agentId, inputOf(options), { signal: context.signal }),
    )
    const fenced = issued.fenced_session_id === null ? 'no session was active' : 'its session has ended'
    context.output.note(`${fenced}; the grant works once, until ${issued.expires_at}`)
    context.output.note('on its machine: bridge session start --takeover-grant-stdin')
    context.output.result(issued, issued.grant)
  })

const inputOf = ({ ttl, reason }: TakeoverOptions): TakeoverInput => ({
  ...(ttl === undefined ? {} : { ttl_seconds: ttl }),
  ...(reason === undefined ? {} : { reason }),
})
