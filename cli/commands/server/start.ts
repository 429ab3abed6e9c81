/** `bridge server start`: run until SIGINT or SIGTERM. Contract §12. */
import { once } from 'node:events'
import type { Config, RunningServer } from '../../../server/main.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError, exitCodes } from '../../exit-codes.ts'
import { configOf, onHost, type Server, type SettingOptions, withData } from './settings.ts'

export function startCommand(context: CliContext, run = start): Command {
  const start = command('start', 'bridge server start').description(
    'Run the node until SIGINT or SIGTERM. One line on standard output reports that it is ready.',
  )
  return withData(start).action((options: SettingOptions) => run(context, options))
}

export const start = (context: CliContext, options: SettingOptions): Promise<void> =>
  onHost(async (server) => {
    const { output } = context
    const config = configOf(server, context, options)
    const running = await startNode(context, server, config)
    const { host, port, url, serverId, setupLink, metricsUrl } = running
    if (setupLink !== undefined) {
      output.next(
        `set up the owner within 30 minutes: open ${setupLink} in a browser, or: bridge admin setup --name NAME`,
      )
    }
    if (metricsUrl !== undefined) output.note(`metrics at ${metricsUrl}`)
    const metrics = metricsUrl === undefined ? {} : { metrics_url: metricsUrl }
    output.result({ host, port, url, data: config.data, server_id: serverId, ...metrics }, `ready at ${url}`)
    await runUntilEnd(context, running)
  })

/** Starts the node in this process. It takes SIGHUP before it says that it is ready. */
export async function startNode({ io }: CliContext, server: Server, config: Config): Promise<RunningServer> {
  const running = await server.startServer(config)
  // A terminal that closes sends SIGHUP, and a node without a certificate to read again ends with it.
  const endsWithTerminal = config.tls === undefined && (io.isTerminal.stdin || io.isTerminal.stderr)
  if (!endsWithTerminal) reloadOnSignal(running)
  const { boundYoungGeneration } = await import('../../startup/young-generation.ts')
  boundYoungGeneration()
  return running
}

/** Waits until the node ends. @throws CommandError if its store has failed */
export async function runUntilEnd({ signal }: CliContext, running: RunningServer): Promise<void> {
  const code = await ending(running, signal)
  if (code === 0) return
  if (code === exitCodes.conflict) {
    throw new CommandError('conflict', 'a newer program has migrated the database and the node has stopped', {
      hint: 'install the version of the other nodes',
    })
  }
  throw new CommandError('unexpected', 'the store failed and the server has stopped', {
    hint: 'the log above shows why',
  })
}

/**
 * Reloads the certificate on SIGHUP, which renewal tools send after they wrote a new one. Service managers send
 * it to a node without one too, and the default action would end the process.
 */
function reloadOnSignal(running: RunningServer): void {
  const reload = () => running.reloadCertificate()
  process.on('SIGHUP', reload)
  void running.finished.finally(() => process.off('SIGHUP', reload))
}

/** Waits until the signal aborts or the store fails, stops the server, and returns its exit code. */
async function ending(running: RunningServer, signal: AbortSignal): Promise<number> {
  const aborted = signal.aborted ? Promise.resolve() : once(signal, 'abort').then(() => undefined)
  const code = await Promise.race([running.finished, aborted])
  await running.stop().catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandError('unexpected', `the node did not stop cleanly: ${why}`, {
      hint: 'what it acknowledged is stored; the next start checks the data',
      cause,
    })
  })
  return code ?? running.finished
}
