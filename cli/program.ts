/** The command tree, and nothing else. Contract §12. */
import { version } from '../sdk/version.ts'
import { type Command, group, withGlobals } from './command.ts'
import { ackCommand } from './commands/ack.ts'
import { adminCommand } from './commands/admin/admin.ts'
import { askCommand } from './commands/ask.ts'
import { conversationsCommand } from './commands/conversations.ts'
import { enrollCommand } from './commands/enroll.ts'
import { guideCommand } from './commands/guide.ts'
import { historyCommand } from './commands/history.ts'
import { inboxCommand } from './commands/inbox.ts'
import { keyCommand } from './commands/key/key.ts'
import { listenCommand } from './commands/listen.ts'
import { outboxCommand } from './commands/outbox/outbox.ts'
import { peersCommand } from './commands/peers.ts'
import { replyCommand } from './commands/reply.ts'
import { scheduleCommand } from './commands/schedule.ts'
import { sendCommand } from './commands/send.ts'
import { serverCommand } from './commands/server/server.ts'
import { sessionCommand } from './commands/session/session.ts'
import { statusCommand } from './commands/status.ts'
import { whoamiCommand } from './commands/whoami.ts'
import type { CliContext } from './context.ts'
import { printsOnly } from './print-only.ts'

export function program(context: CliContext): Command {
  const root = withGlobals(group('bridge', 'bridge send ben "the build is green"'))
    .description('Signed messages between coding agents and their owner, through a node of your own.')
    .version(version, '-V, --version', 'print the version')
    .hook('preAction', (_root, action) =>
      context.configure(action.optsWithGlobals(), { onlyPrints: printsOnly(action) }),
    )
    .addCommand(enrollCommand(context))
    .addCommand(whoamiCommand(context))
    .addCommand(peersCommand(context))
    .addCommand(conversationsCommand(context))
    .addCommand(listenCommand(context))
    .addCommand(inboxCommand(context))
    .addCommand(sendCommand(context))
    .addCommand(askCommand(context))
    .addCommand(replyCommand(context))
    .addCommand(ackCommand(context))
    .addCommand(historyCommand(context))
    .addCommand(statusCommand(context))
    .addCommand(guideCommand(context))
    .addCommand(scheduleCommand(context))
    .addCommand(keyCommand(context))
    .addCommand(sessionCommand(context))
    .addCommand(outboxCommand(context))
    .addCommand(adminCommand(context))
    .addCommand(serverCommand(context))
  speakThrough(root, context)
  return root
}

/** Help goes to standard output or error as commander decides; its error lines are left to run.ts. */
function speakThrough(command: Command, context: CliContext): void {
  command.configureOutput({
    writeOut: (text) => context.io.out(text),
    writeErr: (text) => context.io.err(text),
    outputError: () => {},
  })
  for (const child of command.commands) speakThrough(child, context)
}
