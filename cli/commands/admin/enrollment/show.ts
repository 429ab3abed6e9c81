/** `bridge admin enrollment show`: shows whether a prompt was used, but never its code. Contract §4. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { id } from '../../../ids/parse.ts'
import { asOwner } from '../../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'

export function showEnrollmentCommand(context: CliContext, run = showEnrollment): Command {
  const created = `bridge admin enrollment create ada --json | sed 's/.*"enrollment_id":"\\([^"]*\\)".*/\\1/'`
  const example = `bridge admin enrollment show ada "$(${created})"`
  const show = command('show', example)
    .description('Show whether an enrolment is pending, claimed, expired or revoked, without its code.')
    .argument('<agent>', 'name or id')
    .argument('<enrollment_id>', 'the id that bridge admin enrollment create printed', id)
  return withProject(show).action((agent: string, enrollmentId: string, options: ProjectOption) =>
    run(context, agent, enrollmentId, options),
  )
}

export const showEnrollment = (
  context: CliContext,
  agent: string,
  enrollmentId: string,
  options: ProjectOption,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const { signal } = context
    const project = await findProject(owner, options.project, context)
    const agentId = await findAgent(owner, project, agent, context)
    const status = await owner.enrollments.get(project.id, agentId, enrollmentId, { signal })
    const when = status.claimed_at ?? status.expires_at
    const word = status.state === 'claimed' ? 'at' : status.state === 'pending' ? 'until' : 'expiry'
    context.output.result(status, `${status.state}, ${word} ${when}`)
  })
