/** `bridge ack`. */
import type { Bridge } from '../../sdk/index.ts'
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'
import { ids } from '../ids/parse.ts'

export interface AckOptions {
  readonly all?: true
}

export function ackCommand(context: CliContext, run = ack): Command {
  const build = command('ack', 'bridge ack 01980000-0000-7000-8000-000000000001')
    .description('Acknowledge messages that you have durably recorded; all of them or none.')
    .argument('[message_id...]', 'the messages', ids)
    .option('--all', 'every unacknowledged message that this profile has printed, and no other')
  return build.action((messageIds: readonly string[], options: AckOptions) => {
    const hasIds = messageIds.length > 0
    if (options.all && hasIds) build.error('error: --all takes no message ids')
    if (!options.all && !hasIds) build.error("error: missing required argument 'message_id'")
    return run(context, messageIds, options)
  })
}

export async function ack(
  context: CliContext,
  messageIds: readonly string[],
  { all }: AckOptions = {},
): Promise<void> {
  const { output, signal } = context
  const bridge = await context.bridge()
  if (all) return acknowledgePrinted(context, bridge)
  const answer = await bridge.acknowledgements.create(messageIds, { signal })
  const already = answer.already.length === 0 ? '' : `, ${answer.already.length} already acknowledged`
  output.result(answer, `acknowledged ${answer.acknowledged.length}${already}`)
}

/** The most ids of one request. */
const atOnce = 100

async function acknowledgePrinted({ ids: seen, output, signal }: CliContext, bridge: Bridge): Promise<void> {
  const printed = new Set(
    seen
      .all('message')
      .filter(({ how }) => how === 'printed')
      .map(({ id }) => id),
  )
  const waiting: string[] = []
  for await (const { id } of bridge.inbox.all({ signal })) waiting.push(id)
  const chosen = waiting.filter((id) => printed.has(id))
  const acknowledged: string[] = []
  const already: string[] = []
  for (let at = 0; at < chosen.length; at += atOnce) {
    const answer = await bridge.acknowledgements.create(chosen.slice(at, at + atOnce), { signal })
    acknowledged.push(...answer.acknowledged)
    already.push(...answer.already)
  }
  output.result({ acknowledged, already }, `acknowledged ${acknowledged.length}`)
  const left = waiting.length - chosen.length
  if (left > 0) output.next(`${left} not printed yet: bridge inbox shows them`)
}
