/**
 * `bridge listen`: messages as they come.
 *
 * - One a profile; a second one is exit 12, or a quiet 0 with `--ensure`.
 * - A message is in the journal, synced, before it is printed, and is printed once: a redelivery is only counted. What
 *   the journal holds and nobody was shown, because its reader or its process went away, is printed first.
 * - Nothing is acknowledged, unless `--ack journal` or a command of `--exec` that exits 0.
 *
 * Contract §12.
 */
import type { ListenTransport, Message, ReceivedPage } from '../../sdk/index.ts'
import { type Command, command, oneOf, seconds } from '../command.ts'
import type { CliContext } from '../context.ts'
import { ShellCommands } from '../exec/shell-commands.ts'
import { CommandError } from '../exit-codes.ts'
import { failureWords } from '../failures/failure-words.ts'
import { networkIsClosed } from '../failures/sandbox.ts'
import { type Lock, takeLock } from '../lock.ts'
import {
  type HandlerOptions,
  type MessageHandler,
  printMessages,
  runForMessages,
} from '../messages/on-message.ts'
import type { Agent } from '../profile/agent.ts'
import { exactDuration } from '../terminal/words.ts'

export interface ListenOptions {
  readonly once?: true
  readonly timeout?: number
  readonly exec?: string
  readonly ack: 'journal' | 'manual'
  readonly ensure?: true
}

export function listenCommand(context: CliContext, run = listen): Command {
  return command('listen', 'bridge listen --once --timeout 10m')
    .description(
      'Wait for messages and print each once; bridge inbox shows all that is unacknowledged. Reading acknowledges nothing: bridge ack does.',
    )
    .option('--once', 'end after the first new messages')
    .option('--timeout <duration>', 'end after so long; exit 4 when nothing came', seconds)
    .option(
      '--exec <command>',
      'run this for each message, its JSON on standard input; exit 0 acknowledges it',
    )
    .option(
      '--ack <when>',
      'acknowledge each message once it is in the journal, or leave it',
      oneOf(['journal', 'manual']),
      'manual',
    )
    .option('--ensure', 'say nothing and exit 0 when this profile is listening already')
    .action((options: ListenOptions) => run(context, options))
}

export async function listen(context: CliContext, options: ListenOptions): Promise<void> {
  const agent = await context.agent()
  const lock = await takeLock(agent.paths.lock)
  if (lock === undefined) {
    if (options.ensure === true) return
    throw new CommandError(
      'already_listening',
      `the profile ${context.settings.profile} is listening already`,
      {
        hint: '--ensure makes this a quiet success',
      },
    )
  }
  await listenLocked(context, agent, options, lock)
}

async function listenLocked(
  context: CliContext,
  agent: Agent,
  options: ListenOptions,
  lock: Lock,
): Promise<void> {
  const { Journal } = await import('../../sdk/program.ts')
  const journal = await Journal.open({ path: agent.paths.journal, clock: context.clock })
  const shell = new ShellCommands()
  try {
    const receiving = { context, agent, journal, options }
    const recipient = options.exec === undefined ? printMessages(receiving) : runForMessages(receiving, shell)
    const told = options.exec === undefined && (await recipient(await leftOver(receiving)))
    if (told && options.once === true) return
    const { heard, waiting } = await receive(context, agent, options, recipient)
    if (!told && !heard && options.timeout !== undefined) {
      const hint = waiting === 0 ? undefined : `bridge inbox shows the ${waiting} unacknowledged`
      throw new CommandError('nothing_came', `nothing came within ${exactDuration(options.timeout)}`, {
        hint,
      })
    }
  } finally {
    shell.close()
    await journal.close()
    lock.release()
  }
}

/** What was recorded, shown to nobody, and is still unacknowledged. */
async function leftOver({ context, agent, journal }: HandlerOptions): Promise<Message[]> {
  const left = new Set(journal.unprinted)
  const messages: Message[] = []
  if (left.size === 0) return messages
  for await (const message of agent.bridge.inbox.all({ signal: context.signal })) {
    if (left.delete(message.id)) messages.push(message)
  }
  // Acknowledged meanwhile: not to be asked about again.
  await journal.recordPrinted([...left])
  return messages
}

interface Received {
  /** Something new came. */
  readonly heard: boolean
  /** How many are unacknowledged, as far as the last page told. */
  readonly waiting: number
}

async function receive(
  context: CliContext,
  { bridge }: Agent,
  { timeout, once }: ListenOptions,
  recipient: MessageHandler,
): Promise<Received> {
  const { clock, output } = context
  const closed = new AbortController()
  const signal = AbortSignal.any([context.signal, closed.signal])
  const until = timeout === undefined ? undefined : new Date(clock().getTime() + timeout * 1000)
  const onConnection = (away: Error | undefined) => {
    output.note(away === undefined ? 'the node is back' : `the node is away, waiting: ${failureWords(away)}`)
    // A node comes back; what a sandbox closes stays closed.
    if (away !== undefined) void networkIsClosed(context.environment).then((is) => is && closed.abort(away))
  }
  const tell = unacknowledgedTeller(context)
  // What a stream pushes behind the first page would wait for its redelivery; a poll is given no more than it takes.
  const transports: readonly ListenTransport[] | undefined = once === true ? ['long-poll'] : undefined
  let heard = false
  let waiting = 0
  try {
    for await (const page of bridge.pages({ signal, until, onConnection, transports })) {
      heard = (await recipient(page.messages)) || heard
      waiting = page.waiting ?? waiting
      if (heard && once === true) return { heard, waiting }
      tell(page)
    }
  } catch (error) {
    throw closed.signal.aborted ? closed.signal.reason : error
  }
  if (closed.signal.aborted) throw closed.signal.reason
  if (until === undefined || clock() < until)
    output.note('ended: the project limits how long to listen without news')
  return { heard, waiting }
}

/**
 * Tells of redeliveries: how many messages are unacknowledged, when that number is another one. Over a stream, which
 * doesn't tell it, how many came again.
 */
function unacknowledgedTeller({ output }: CliContext): (page: ReceivedPage) => void {
  let told = 0
  return ({ messages, waiting }) => {
    const again = messages.filter(({ delivery }) => delivery.attempt > 1).length
    const count = waiting ?? again
    if (count === told || again === 0) return
    told = count
    output.next(`${count} unacknowledged: bridge inbox shows them, bridge ack acknowledges`)
  }
}
