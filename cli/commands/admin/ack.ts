/** `bridge admin ack`: acknowledges messages of agents to the owner. Contract §7. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { ids } from '../../ids/parse.ts'
import { asOwner } from '../../owner/client.ts'
import { acknowledgePrinted, projectOf } from '../../owner/inbox.ts'
import { type ProjectOption, withProject } from '../../owner/names.ts'

export interface OwnerAckOptions extends ProjectOption {
  readonly all?: true
}

export function ackCommand(context: CliContext, run = ack): Command {
  const example = `bridge admin ack $(bridge admin history ada --json | grep -o '"id":"[^"]*"' | cut -d '"' -f 4 | tail -n 1)`
  const ack = command('ack', example)
    .description('Acknowledge messages that agents wrote to you: all of them or none.')
    .argument('[message_id...]', 'as bridge admin inbox shows them', ids)
    .option(
      '--all',
      'every unacknowledged message that this profile has printed, and no other; of all projects without --project',
    )
  return withProject(ack).action((messageIds: readonly string[], options: OwnerAckOptions) => {
    const hasIds = messageIds.length > 0
    if (options.all && hasIds) ack.error('error: --all takes no message ids')
    if (!options.all && !hasIds) ack.error("error: missing required argument 'message_id'")
    return run(context, messageIds, options)
  })
}

export const ack = (
  context: CliContext,
  messageIds: readonly string[],
  options: OwnerAckOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    if (options.all) return acknowledgePrinted(owner, options, context)
    const project = await projectOf(owner, messageIds, options, context)
    const done = await owner.messages.acknowledge(project.id, messageIds, { signal: context.signal })
    const { acknowledged, already } = done
    const before = already.length === 0 ? '' : `, ${already.length} before`
    context.output.result(done, `acknowledged ${acknowledged.length}${before}`)
  })
