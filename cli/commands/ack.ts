/** `bridge ack`. */
import { type Command, command, ids } from '../command.ts'
import type { CliContext } from '../context.ts'

export function ackCommand(context: CliContext, run = ack): Command {
  return command('ack', 'bridge ack 01980000-0000-7000-8000-000000000001')
    .description('Acknowledge messages that you have durably recorded; all of them or none.')
    .argument('<message_id...>', 'the messages', ids)
    .action((messageIds: readonly string[]) => run(context, messageIds))
}

export async function ack(
  { bridge, output, signal }: CliContext,
  messageIds: readonly string[],
): Promise<void> {
  const answer = await (await bridge()).acknowledgements.create(messageIds, { signal })
  const already = answer.already.length === 0 ? '' : `, ${answer.already.length} already acknowledged`
  output.result(answer, `acknowledged ${answer.acknowledged.length}${already}`)
}
