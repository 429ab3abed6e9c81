/** `bridge admin telemetry`: shows the load of hosts. Contract §11. */
import type { HostSample, NodeStorage } from '../../../sdk/index.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { asOwner } from '../../owner/client.ts'
import { tableText } from '../../terminal/output.ts'
import { relative } from '../../terminal/words.ts'

export function telemetryCommand(context: CliContext, run = telemetry): Command {
  return command('telemetry', 'bridge admin telemetry')
    .description("Show the latest load of each host: the node's own host, and hosts that report to it.")
    .action(() => run(context))
}

export const telemetry = (context: CliContext): Promise<void> =>
  asOwner(context, async (owner) => {
    const found = await owner.telemetry.list({ signal: context.signal })
    const { connectionLabels } = await import('../../../sdk/program.ts')
    const now = context.clock()
    const loadOf = (host: HostSample) =>
      host.stale
        ? [connectionLabels.unavailable, connectionLabels.unavailable]
        : [
            `${host.cpu_percent.toFixed(0)} %`,
            `${gib(host.memory_used_bytes)} of ${gib(host.memory_total_bytes)} GiB`,
          ]
    const rows = found.hosts.map((host) => [host.host, ...loadOf(host), relative(host.sampled_at, now)])
    const table = tableText(['host', 'processors', 'memory', 'sampled'], rows)
    context.output.result(found, `${table}\n\n${diskText(found.storage)}`)
  })

function diskText({ state, free_bytes, total_bytes, database_bytes, reserve_bytes }: NodeStorage): string {
  const room = `${gib(free_bytes)} of ${gib(total_bytes)} GiB are free, the database has ${gib(database_bytes)}`
  if (state === 'full') return `disk: full, only small writes are accepted; ${room}`
  return `disk: ${room}${reserve_bytes === 0 ? '; there is no reserve' : ''}`
}

const gib = (bytes: number): string => (bytes / 1024 ** 3).toFixed(1)
