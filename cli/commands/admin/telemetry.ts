/** `bridge admin telemetry`: shows the load of hosts. Contract §11. */
import type { HostHistory, HostMinute, HostSample, NodeStorage } from '../../../sdk/index.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { asOwner } from '../../owner/client.ts'
import { endedText, nodesText } from '../../owner/nodes.ts'
import { tableText } from '../../terminal/output.ts'
import { relative } from '../../terminal/words.ts'

export interface TelemetryOptions {
  readonly history?: string
}

export function telemetryCommand(context: CliContext, run = telemetry): Command {
  return command('telemetry', 'bridge admin telemetry')
    .description("Show the latest load of each host: the node's own host, and hosts that report to it.")
    .option('--history <host>', 'the load of this host in the last 24 hours, by the hour')
    .action((options: TelemetryOptions) => run(context, options))
}

export const telemetry = (context: CliContext, { history: host }: TelemetryOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    if (host !== undefined) {
      const history = await owner.telemetry.history(host, { signal: context.signal })
      return context.output.result(history, historyText(history))
    }
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
    const { nodes, ended_nodes: ended } = found
    const several = nodes.length + ended.length < 2 ? [] : [nodesText(nodes, now)]
    const lost = ended.length === 0 ? [] : [endedText(ended, now)]
    context.output.result(found, [table, ...several, ...lost, diskText(found.storage)].join('\n\n'))
  })

/** One line for each hour. `--json` has every minute. */
function historyText({ minutes }: HostHistory): string {
  const hours = Map.groupBy(minutes, ({ at }) => `${at.slice(0, 13)}:00Z`)
  const rows = [...hours].map(([hour, samples]) => {
    const cpu = samples.map(({ cpu_percent: percent }) => percent)
    const average = cpu.reduce((sum, percent) => sum + percent, 0) / cpu.length
    const fullest = samples.reduce((most, each) => (usedOf(each) > usedOf(most) ? each : most))
    const memory = `${gib(fullest.memory_used_bytes)} of ${gib(fullest.memory_total_bytes)} GiB`
    return [hour, `${average.toFixed(0)} %`, `${Math.max(...cpu).toFixed(0)} %`, memory]
  })
  return tableText(['hour', 'processors', 'highest', 'most memory'], rows)
}

const usedOf = ({ memory_used_bytes: used }: HostMinute): number => used

function diskText({ state, free_bytes, total_bytes, database_bytes, reserve_bytes }: NodeStorage): string {
  const room = `${gib(free_bytes)} of ${gib(total_bytes)} GiB are free, the database has ${gib(database_bytes)}`
  if (state === 'full') return `disk: full, only small writes are accepted; ${room}`
  return `disk: ${room}${reserve_bytes === 0 ? '; there is no reserve' : ''}`
}

const gib = (bytes: number): string => (bytes / 1024 ** 3).toFixed(1)
