/**
 * `bridge guide`: prints a guide that the node serves, or this program's copy if the profile has no identity.
 *
 * Spec §2 "Guide response".
 */
import type { Guide, GuideTopic } from '../../sdk/index.ts'
import { type Command, command, oneOf } from '../command.ts'
import type { CliContext } from '../context.ts'

const topics = ['messaging', 'tasks', 'transfers', 'packages'] as const satisfies readonly GuideTopic[]

export function guideCommand(context: CliContext, run = guide): Command {
  return command('guide', 'bridge guide messaging')
    .description(
      "Print a guide from the node, or without an identity this program's copy: which commands to run, in which order, and what their results mean.",
    )
    .argument('[topic]', topics.join(', '), oneOf(topics), 'messaging' as const)
    .action((topic: GuideTopic) => run(context, topic))
}

export async function guide(context: CliContext, topic: GuideTopic): Promise<void> {
  const { home, output, settings, signal } = context
  const { profilePaths, readProfile } = await import('../profile/profile.ts')
  const isEnrolled = (await readProfile(profilePaths(home, settings.profile))) !== undefined
  const found = isEnrolled
    ? await (await context.bridge()).guides.get(topic, { signal })
    : await ownCopy(topic)
  if (!isEnrolled)
    output.note(
      `no identity in the profile ${settings.profile}: this copy of the guide comes with the program`,
    )
  output.result(found, found.instructions.trimEnd())
}

/** Returns the guide that a node of this version serves. */
async function ownCopy(topic: GuideTopic): Promise<Guide> {
  const { guideTexts, guideVersion } = await import('../../sdk/program.ts')
  return { version: guideVersion, topic, instructions: guideTexts[topic] }
}
