/**
 * `bridge listen`: prints messages as they arrive, or runs a command for each.
 *
 * - Each profile has at most one listen. A second one exits with 12, or with `--ensure` silently with 0.
 * - A message is durable in the journal before it is printed, and it is printed once. A redelivery is only
 *   counted. Messages that the journal has but that were not printed, because the reader or the process
 *   ended, come first.
 * - A message is acknowledged only with `--ack journal`, or if the command of `--exec` exits 0.
 *
 * Contract §12.
 */
import type { ListenTransport, Message, ReceivedPage } from '../../sdk/index.ts'
import { type Command, command, oneOf, seconds, shellCommand } from '../command.ts'
import type { Agent, CliContext } from '../context.ts'
import { ShellCommands } from '../exec/shell-commands.ts'
import { CommandError } from '../exit-codes.ts'
import { failureWords } from '../failures/failure-words.ts'
import { networkIsClosed } from '../failures/sandbox.ts'
import {
  type HandlerOptions,
  type MessageHandler,
  printMessages,
  runForMessages,
} from '../messages/on-message.ts'
import { type Lock, takeLock } from '../profile/lock.ts'
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
      'Wait for messages and print each once; bridge inbox lists all unacknowledged ones. Printing does not acknowledge; bridge ack does.',
    )
    .option('--once', 'end after the first new messages')
    .option('--timeout <duration>', 'end after this time; exit 4 if no message came', seconds)
    .option(
      '--exec <command>',
      'run this for each message, with its JSON on standard input; exit 0 acknowledges the message',
      shellCommand,
    )
    .option(
      '--ack <when>',
      'journal (acknowledge each message once it is in the journal) or manual (leave that to bridge ack)',
      oneOf(['journal', 'manual']),
      'manual',
    )
    .option('--ensure', 'print nothing and exit 0 if this profile is already listening')
    .action((options: ListenOptions) => run(context, options))
}

export async function listen(context: CliContext, options: ListenOptions): Promise<void> {
  const agent = await context.agent()
  const lock = await takeLock(agent.paths.lock)
  if (lock === undefined) {
    if (options.ensure === true) return
    throw await alreadyListening(context)
  }
  await listenLocked(context, agent, options, lock)
}

async function alreadyListening({ home, settings }: CliContext): Promise<CommandError> {
  const [{ placesOf }, { runningWaiter }] = await Promise.all([
    import('../hooks/places.ts'),
    import('../hooks/waiter-record.ts'),
  ])
  const text = `the profile ${settings.profile} is already listening`
  if (runningWaiter(placesOf(home, settings.profile)) !== undefined) {
    const hint = 'bridge inbox shows the messages'
    return new CommandError('already_listening', `${text}: this session is told of mail by its hooks`, {
      hint,
    })
  }
  return new CommandError('already_listening', text, { hint: '--ensure turns this into exit 0' })
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
    const handle = options.exec === undefined ? printMessages(receiving) : runForMessages(receiving, shell)
    const hadLeftovers = options.exec === undefined && (await handle(await unprinted(receiving)))
    if (hadLeftovers && options.once === true) return
    const { hadNew, waiting } = await receive(context, agent, options, handle)
    if (!hadLeftovers && !hadNew && options.timeout !== undefined) {
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

/** Messages that were recorded, but not printed, and are still unacknowledged. */
async function unprinted({ context, agent, journal }: HandlerOptions): Promise<Message[]> {
  const left = new Set(journal.unprinted)
  const messages: Message[] = []
  if (left.size === 0) return messages
  const { everyItem, limits } = await import('../../sdk/program.ts')
  const { signal } = context
  let listed = 0
  const waiting = new Set<number>()
  const read = (after: string | undefined) =>
    agent.bridge.inbox.list({ after, limit: limits.pageMax, signal })
  for await (const page of everyItem(read, (each) => [each])) {
    listed += page.messages.length
    waiting.add(page.waiting)
    for (const message of page.messages) if (left.delete(message.id)) messages.push(message)
  }
  // The node counts what it withholds, but does not list it. It may deliver some of the rest later, which must
  // then be printed.
  const withholdsNothing = [...waiting].every((count) => count === listed)
  // The rest was acknowledged meanwhile. Note it as printed, so that the next listen does not look for it.
  if (withholdsNothing) await journal.recordPrinted([...left])
  return messages
}

interface Received {
  /** Whether a new message came. */
  readonly hadNew: boolean
  /** Number of unacknowledged messages, as of the last page that has it. */
  readonly waiting: number
}

async function receive(
  context: CliContext,
  { bridge }: Agent,
  { timeout, once }: ListenOptions,
  handle: MessageHandler,
): Promise<Received> {
  const { clock, output } = context
  const closed = new AbortController()
  const signal = AbortSignal.any([context.signal, closed.signal])
  const until = timeout === undefined ? undefined : new Date(clock().getTime() + timeout * 1000)
  const onConnection = (lost: Error | undefined) => {
    output.note(
      lost === undefined
        ? 'the node is reachable again'
        : `the node is unreachable, waiting: ${failureWords(lost)}`,
    )
    // A node may become reachable again. A network that a sandbox blocks stays blocked, so the listen ends.
    if (lost !== undefined) void networkIsClosed(context.environment).then((is) => is && closed.abort(lost))
  }
  const noteRedeliveries = redeliveryNotes(context)
  // With --once, a stream could push messages after the first page, and they would wait for redelivery. A
  // poll cannot.
  const transports: readonly ListenTransport[] | undefined = once === true ? ['long-poll'] : undefined
  let hadNew = false
  let waiting = 0
  try {
    for await (const page of bridge.pages({ signal, until, onConnection, transports })) {
      hadNew = (await handle(page.messages)) || hadNew
      waiting = page.waiting ?? waiting
      if (hadNew && once === true) return { hadNew, waiting }
      noteRedeliveries(page)
    }
  } catch (error) {
    throw closed.signal.aborted ? closed.signal.reason : error
  }
  if (closed.signal.aborted) throw closed.signal.reason
  if (until === undefined || clock() < until) output.note('stopped: idle limit of the project reached')
  return { hadNew, waiting }
}

/**
 * Notes after a redelivery how many messages are unacknowledged, if that number has changed. A stream does
 * not report the number, so the note then counts the redelivered messages.
 */
function redeliveryNotes({ output }: CliContext): (page: ReceivedPage) => void {
  let noted = 0
  return ({ messages, waiting }) => {
    const again = messages.filter(({ delivery }) => delivery.attempt > 1).length
    const count = waiting ?? again
    if (count === noted || again === 0) return
    noted = count
    output.next(`${count} unacknowledged: bridge inbox shows them, bridge ack acknowledges`)
  }
}
