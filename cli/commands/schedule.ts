/**
 * `bridge schedule`: announces when an agent that does not always listen will check its inbox. Contract §6.
 */
import type { ConnectionModeSet, ContactSchedule } from '../../sdk/index.ts'
import { type Command, command, seconds } from '../command.ts'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { exactDuration } from '../terminal/words.ts'

export interface ScheduleOptions {
  readonly every?: number
  readonly checkpoint?: true
}

export function scheduleCommand(context: CliContext, run = schedule): Command {
  return command('schedule', 'bridge schedule --every 5m')
    .description(
      'Announce when this agent will check its inbox next. While it listens, others see that instead.',
    )
    .option('--every <duration>', 'it checks at this interval, 5s to 1d', seconds)
    .option('--checkpoint', 'it checks after its current work step')
    .action((options: ScheduleOptions) => run(context, options))
}

export async function schedule(
  { bridge, output, signal }: CliContext,
  options: ScheduleOptions,
): Promise<void> {
  const declared = await (await bridge()).schedule(scheduleOf(options), { signal })
  output.result(declared, nextText(declared))
}

/** Describes the schedule. While a listen is open, or closed moments ago, the node expects no time. */
function nextText({ schedule: declared, connection }: ConnectionModeSet): string {
  if (declared.mode === 'checkpoint') return 'next contact: after current work step'
  const { expected_at: next } = connection.next_contact
  const every = `every ${exactDuration(declared.interval_seconds)}`
  return next === null ? `${every}, when it no longer listens` : `${every}, next contact: ${next}`
}

function scheduleOf({ every, checkpoint }: ScheduleOptions): ContactSchedule {
  if (checkpoint === true && every === undefined) return { mode: 'checkpoint' }
  if (checkpoint === undefined && every !== undefined) return { mode: 'short_poll', interval_seconds: every }
  throw new CommandError('usage', 'give either --every or --checkpoint', {
    hint: 'bridge schedule --every 5m, or bridge schedule --checkpoint',
  })
}
