/** `bridge admin enrollment revoke`: makes an unused prompt invalid. Contract §4. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { id } from '../../../ids/parse.ts'
import { asOwner } from '../../../owner/client.ts'
import { findProject, type ProjectOption, withProject } from '../../../owner/names.ts'

export function revokeEnrollmentCommand(context: CliContext, run = revokeEnrollment): Command {
  const pending = "bridge admin enrollment list --state pending | awk 'NR == 2 { print $1 }'"
  const revoke = command('revoke', `bridge admin enrollment revoke $(${pending})`)
    .description('Revoke a pending enrolment. Its code is no longer valid.')
    .argument('<enrollment_id>', 'as bridge admin enrollment list shows it', id)
  return withProject(revoke).action((enrollmentId: string, options: ProjectOption) =>
    run(context, enrollmentId, options),
  )
}

export const revokeEnrollment = (
  context: CliContext,
  enrollmentId: string,
  options: ProjectOption,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const revoked = await owner.enrollments.revoke(project.id, enrollmentId, { signal: context.signal })
    context.output.result(revoked, `${revoked.id} is ${revoked.state}`)
  })
