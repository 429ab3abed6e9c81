/** `bridge admin pairing enable` and `disable`. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'

const verbs = {
  enable: 'Let two agents of a project talk to each other. Cancelled transfers must be offered again.',
  disable:
    'Stop two agents of a project from talking, with immediate effect. Their open transfers are cancelled, messages that were not offered wait, and a claimed task may be finished.',
} as const
export type PairingVerb = keyof typeof verbs

export function setPairingCommand(context: CliContext, verb: PairingVerb, run = setPairing): Command {
  const set = command(verb, `bridge admin pairing ${verb} ada ben`)
    .description(verbs[verb])
    .argument('<agent>', 'name or id')
    .argument('<other>', 'name or id')
  return withProject(set).action((agent: string, other: string, options: ProjectOption) =>
    run(context, verb, [agent, other], options),
  )
}

export const setPairing = (
  context: CliContext,
  verb: PairingVerb,
  [agent, other]: readonly [string, string],
  options: ProjectOption,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const ids = [
      await findAgent(owner, project, agent, context),
      await findAgent(owner, project, other, context),
    ] as const
    const set = await owner.pairings.set(project.id, ids, verb === 'enable', { signal: context.signal })
    const outcome = set.enabled ? 'may talk' : 'may no longer talk; their open transfers are cancelled'
    context.output.result(set, `${agent} and ${other} ${outcome}`)
  })
