/** `bridge server`: commands for the host of a node. Contract §12. */
import { type Command, group } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { backupCommand } from './backup.ts'
import { serverDoctorCommand } from './doctor.ts'
import { initCommand } from './init.ts'
import { linkCommand } from './link.ts'
import { maintainCommand } from './maintain.ts'
import { moveCommand } from './move.ts'
import { restoreCommand } from './restore.ts'
import { restoredCommand } from './restored.ts'
import { rotateKeyCommand } from './rotate-key.ts'
import { addSettings, databaseSettings } from './settings.ts'
import { startCommand } from './start.ts'
import { statusCommand } from './status.ts'
import { telemetryTokenCommand } from './telemetry-token.ts'

/** Commands that take the server's settings as flags. */
const configurable: ReadonlySet<string> = new Set([
  'init',
  'start',
  'setup-link',
  'owner-link',
  'telemetry-token',
  'doctor',
  'rotate-key',
  'move',
])

/** Commands that take only those that name the database. */
const onDatabase: ReadonlySet<string> = new Set(['maintain', 'backup', 'restore', 'restored'])

export function serverCommand(context: CliContext): Command {
  return group('server', 'bridge server start')
    .description('Run a node on this machine.')
    .addCommand(initCommand(context))
    .addCommand(startCommand(context))
    .addCommand(statusCommand(context))
    .addCommand(linkCommand(context, 'setup-link'))
    .addCommand(linkCommand(context, 'owner-link'))
    .addCommand(telemetryTokenCommand(context))
    .addCommand(maintainCommand(context))
    .addCommand(backupCommand(context))
    .addCommand(restoreCommand(context))
    .addCommand(restoredCommand(context))
    .addCommand(moveCommand(context))
    .addCommand(rotateKeyCommand(context))
    .addCommand(serverDoctorCommand(context))
    .hook('preSubcommand', async (_group, chosen) => {
      // Must run before the server itself is loaded.
      if (chosen.name() === 'start') (await import('../../startup/young-generation.ts')).holdYoungGeneration()
      if (configurable.has(chosen.name())) await addSettings(chosen)
      if (onDatabase.has(chosen.name())) await addSettings(chosen, {}, databaseSettings)
    })
}
