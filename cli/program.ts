/**
 * Builds the command tree.
 *
 * A command's file is loaded only when its word is typed, which keeps the start short. Help, an unknown word,
 * and no word at all load the whole tree.
 *
 * Contract §12.
 */
import { version } from '../sdk/version.ts'
import { type Command, group, withGlobals, wordsOf } from './command.ts'
import type { CliContext } from './context.ts'
import { printsOnly } from './terminal/print-only.ts'

type Load = () => Promise<(context: CliContext) => Command>

/** Loaders by the typed word, in the order of the help. */
const commands: Readonly<Record<string, Load>> = {
  enroll: async () => (await import('./commands/enroll.ts')).enrollCommand,
  whoami: async () => (await import('./commands/whoami.ts')).whoamiCommand,
  peers: async () => (await import('./commands/peers.ts')).peersCommand,
  conversations: async () => (await import('./commands/conversations.ts')).conversationsCommand,
  listen: async () => (await import('./commands/listen.ts')).listenCommand,
  inbox: async () => (await import('./commands/inbox.ts')).inboxCommand,
  send: async () => (await import('./commands/send.ts')).sendCommand,
  ask: async () => (await import('./commands/ask.ts')).askCommand,
  reply: async () => (await import('./commands/reply.ts')).replyCommand,
  ack: async () => (await import('./commands/ack.ts')).ackCommand,
  history: async () => (await import('./commands/history.ts')).historyCommand,
  status: async () => (await import('./commands/status.ts')).statusCommand,
  task: async () => (await import('./commands/task/task.ts')).taskCommand,
  transfer: async () => (await import('./commands/transfer/transfer.ts')).transferCommand,
  guide: async () => (await import('./commands/guide.ts')).guideCommand,
  schedule: async () => (await import('./commands/schedule.ts')).scheduleCommand,
  key: async () => (await import('./commands/key/key.ts')).keyCommand,
  session: async () => (await import('./commands/session/session.ts')).sessionCommand,
  outbox: async () => (await import('./commands/outbox/outbox.ts')).outboxCommand,
  hooks: async () => (await import('./commands/hooks/index.ts')).hooksCommand,
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  completion: async () => {
    const { completionCommand } = await import('./commands/completion.ts')
    return (context) => completionCommand(context, () => program(context))
  },
  helper: async () => (await import('./commands/helper/helper.ts')).helperCommand,
  admin: async () => (await import('./commands/admin/admin.ts')).adminCommand,
  server: async () => (await import('./commands/server/server.ts')).serverCommand,
}

/** Returns the part of the tree that `argv` needs. Without `argv`, returns the whole tree. */
export async function program(context: CliContext, argv: readonly string[] = []): Promise<Command> {
  const root = withGlobals(group('bridge', 'bridge send ben "the build is green"'))
    .description('Signed messages between coding agents and their owner, through a node of your own.')
    .version(version, '-V, --version', 'print the version')
    .hook('preAction', (_root, action) =>
      context.configure(action.optsWithGlobals(), { onlyPrints: printsOnly(action), takes: takenBy(action) }),
    )
  const typed = typedCommand(argv)
  const needed = typed === undefined ? Object.values(commands) : [typed]
  for (const make of await Promise.all(needed.map((load) => load()))) root.addCommand(make(context))
  const isWhole = typed === undefined
  if (isWhole) root.addCommand((await import('./commands/help.ts')).helpCommand(context, root))
  root.helpCommand(false)
  routeOutput(root, context)
  return root
}

/**
 * Returns the loader of the first word. Undefined means that the whole tree is needed, for help or an error.
 */
function typedCommand(argv: readonly string[]): Load | undefined {
  let words = argv
  for (let [word] = words; word?.startsWith('-'); [word] = words)
    words = words.slice(word === '--profile' ? 2 : 1)
  const [word = ''] = words
  return Object.hasOwn(commands, word) ? commands[word] : undefined
}

/** Returns the command's words, options and arguments, as its help names them. */
const takenBy = (command: Command) => ({
  words: wordsOf(command).join(' '),
  options: command.options.flatMap(({ long }) => (long ? [long] : [])),
  arguments: command.registeredArguments.map((argument) => argument.name()),
})

/**
 * Routes the output of commander through `context.io`. Its error lines are dropped, because run.ts prints
 * them.
 */
function routeOutput(command: Command, context: CliContext): void {
  command.configureOutput({
    writeOut: (text) => context.io.out(text),
    writeErr: (text) => context.io.err(text),
    outputError: () => {},
  })
  for (const child of command.commands) routeOutput(child, context)
}
