/** `bridge guide`: prints a guide that the node serves. Spec §2 "Guide response". */
import type { GuideTopic } from '../../sdk/index.ts'
import { type Command, command, oneOf } from '../command.ts'
import type { CliContext } from '../context.ts'

const topics = ['messaging', 'tasks', 'transfers', 'packages'] as const satisfies readonly GuideTopic[]

export function guideCommand(context: CliContext, run = guide): Command {
  return command('guide', 'bridge guide messaging')
    .description(
      'Print a guide from the node: which commands to run, in which order, and what their results mean.',
    )
    .argument('[topic]', topics.join(', '), oneOf(topics), 'messaging' as const)
    .action((topic: GuideTopic) => run(context, topic))
}

export async function guide({ bridge, output, signal }: CliContext, topic: GuideTopic): Promise<void> {
  const found = await (await bridge()).guides.get(topic, { signal })
  output.result(found, found.instructions.trimEnd())
}
