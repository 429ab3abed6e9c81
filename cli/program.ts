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
import { resolveIds } from './ids/typed.ts'
import { printsOnly } from './terminal/print-only.ts'

type Load = () => Promise<(context: CliContext) => Command>

/** Loaders by the typed word, under the headings and in the order of the help. */
const sections: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Start here:': {
    up: async () => (await import('./commands/server/up.ts')).upCommand,
    enroll: async () => (await import('./commands/enroll.ts')).enrollCommand,
    guide: async () => (await import('./commands/guide.ts')).guideCommand,
    whoami: async () => (await import('./commands/whoami.ts')).whoamiCommand,
    doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
  'Messages:': {
    peers: async () => (await import('./commands/peers.ts')).peersCommand,
    listen: async () => (await import('./commands/listen.ts')).listenCommand,
    inbox: async () => (await import('./commands/inbox.ts')).inboxCommand,
    send: async () => (await import('./commands/send.ts')).sendCommand,
    ask: async () => (await import('./commands/ask.ts')).askCommand,
    reply: async () => (await import('./commands/reply.ts')).replyCommand,
    ack: async () => (await import('./commands/ack.ts')).ackCommand,
    status: async () => (await import('./commands/status.ts')).statusCommand,
    history: async () => (await import('./commands/history.ts')).historyCommand,
    conversations: async () => (await import('./commands/conversations.ts')).conversationsCommand,
  },
  'Tasks and files:': {
    task: async () => (await import('./commands/task/task.ts')).taskCommand,
    transfer: async () => (await import('./commands/transfer/transfer.ts')).transferCommand,
  },
  'In a coding agent:': {
    run: async () => (await import('./commands/run.ts')).runCommand,
    hooks: async () => (await import('./commands/hooks/index.ts')).hooksCommand,
    mcp: async () => (await import('./mcp/command.ts')).mcpCommand,
  },
  'This agent:': {
    schedule: async () => (await import('./commands/schedule.ts')).scheduleCommand,
    session: async () => (await import('./commands/session/session.ts')).sessionCommand,
    outbox: async () => (await import('./commands/outbox/outbox.ts')).outboxCommand,
    key: async () => (await import('./commands/key/key.ts')).keyCommand,
  },
  'The owner and the node:': {
    admin: async () => (await import('./commands/admin/admin.ts')).adminCommand,
    server: async () => (await import('./commands/server/server.ts')).serverCommand,
  },
  'Other:': {
    helper: async () => (await import('./commands/helper/helper.ts')).helperCommand,
    completion: async () => {
      const { completionCommand } = await import('./commands/completion.ts')
      return (context) => completionCommand(context, () => program(context))
    },
  },
}

/** Returns the part of the tree that `argv` needs. Without `argv`, returns the whole tree. */
export async function program(context: CliContext, argv: readonly string[] = []): Promise<Command> {
  const root = withGlobals(
    group(context.program === undefined ? 'bridge' : 'agent-bridge', 'bridge send ben "the build is green"'),
  )
    .description('Signed messages between coding agents and their owner, through a node of your own.')
    .version(version, '-V, --version', 'print the version')
    .hook('preAction', (_root, action) => {
      context.configure(action.optsWithGlobals(), {
        onlyPrints: printsOnly(action),
        current: currentCommand(action),
      })
      resolveIds(action, context.ids)
    })
    .hook('preSubcommand', async (_root, chosen) => {
      if (chosen.name() === 'up') await (await import('./commands/server/up.ts')).addNodeOptions(chosen)
    })
  const typed = typedCommand(argv)
  if (typed === undefined) await addAll(root, context)
  else root.addCommand((await typed())(context))
  root.helpCommand(false)
  routeOutput(root, context)
  return root
}

async function addAll(root: Command, context: CliContext): Promise<void> {
  for (const [heading, loaders] of Object.entries(sections)) {
    const makers = await Promise.all(Object.values(loaders).map((load) => load()))
    for (const make of makers) root.addCommand(make(context).helpGroup(heading))
  }
  const { helpCommand } = await import('./commands/help.ts')
  root.addCommand(helpCommand(context, root).helpGroup('Start here:'))
}

/**
 * Returns the loader of the first word. Undefined means that the whole tree is needed, for help or an error.
 */
function typedCommand(argv: readonly string[]): Load | undefined {
  let words = argv
  for (let [word] = words; word?.startsWith('-'); [word] = words)
    words = words.slice(word === '--profile' ? 2 : 1)
  const [word = ''] = words
  return Object.values(sections).find((loaders) => Object.hasOwn(loaders, word))?.[word]
}

/** Returns the command's words, options and arguments, as its help names them. */
const currentCommand = (command: Command) => ({
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
