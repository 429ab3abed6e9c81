/** `bridge outbox`: stored requests that the node has not answered yet. */
import { type Command, group } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { outboxDropCommand } from './drop.ts'
import { outboxFlushCommand } from './flush.ts'
import { outboxListCommand } from './list.ts'

export const outboxCommand = (context: CliContext): Command =>
  group('outbox', 'bridge outbox list')
    .description('Stored requests that the node has not answered yet.')
    .addCommand(outboxListCommand(context))
    .addCommand(outboxFlushCommand(context))
    .addCommand(outboxDropCommand(context))
