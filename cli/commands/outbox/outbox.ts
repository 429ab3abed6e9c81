/** `bridge outbox`: what the node has not answered yet. */
import { type Command, group } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { outboxDropCommand } from './drop.ts'
import { outboxFlushCommand } from './flush.ts'
import { outboxListCommand } from './list.ts'

export const outboxCommand = (context: CliContext): Command =>
  group('outbox', 'bridge outbox list')
    .description('Requests that were written down and have no answer of the node yet.')
    .addCommand(outboxListCommand(context))
    .addCommand(outboxFlushCommand(context))
    .addCommand(outboxDropCommand(context))
