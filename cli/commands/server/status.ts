/** `bridge server status`: shows whether a node runs and is ready. Contract §11, §12. */
import { readFile } from 'node:fs/promises'
import type { Fetch, NodeInfo, NodeStatus } from '../../../sdk/index.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { nodesText } from '../../owner/nodes.ts'
import { fields } from '../../owner/text.ts'
import { clientOptions } from '../../startup/client-options.ts'
import { configOf, type DataOption, server, withData } from './settings.ts'

export interface StatusOptions extends DataOption {
  readonly url?: string
}

export function statusCommand(context: CliContext, run = status): Command {
  const status = command('status', 'bridge server status')
    .description('Show health and readiness of a node. Exit 9 if it is unreachable or not ready.')
    .option('--url <url>', 'its address (default: the server that runs on the data folder)')
  return withData(status).action((options: StatusOptions) => run(context, options))
}

export async function status(context: CliContext, options: StatusOptions): Promise<void> {
  const { url: baseUrl, fetch, packages } = await target(context, options)
  const { nodeStatus } = await import('../../../sdk/index.ts')
  const found = await nodeStatus({
    ...(await clientOptions(context)),
    ...fetch,
    baseUrl,
    allowPlainHttp: true,
  })
  const nodes = options.url === undefined ? await nodesOf(context, options) : undefined
  const told = { ...found, ...(packages !== undefined && { packages }), ...(nodes && { nodes }) }
  const text = statusText(baseUrl, found, packages)
  context.output.result(told, nodes === undefined ? text : `${text}\n\n${nodesText(nodes, context.clock())}`)
  const failing = Object.entries(found.readiness.checks).filter(([, holds]) => !holds)
  if (found.readiness.ready) return
  throw new CommandError(
    'unreachable',
    `the node is not ready: ${failing.map(([name]) => name).join(', ')}`,
    {
      hint: "the node's log says why",
    },
  )
}

interface Target {
  readonly url: string
  /**
   * Set for a TLS server of this machine. Its certificate names its public host, not the loopback address.
   */
  readonly fetch: { readonly fetch?: Fetch }
  /** Store of packages of a server of this machine: `folder`, or `s3://bucket/prefix`. */
  readonly packages?: string
}

async function target({ environment }: CliContext, { url, data }: StatusOptions): Promise<Target> {
  if (url !== undefined) return { url, fetch: {} }
  const { defaultDataFolder, readAddress } = await server()
  const folder = data ?? defaultDataFolder(environment)
  const address = readAddress(folder)
  if (address !== undefined) {
    const packages = address.runsWith?.packages?.packages ?? 'folder'
    return { url: address.url, fetch: await localFetch(address.cert), packages }
  }
  throw new CommandError('unreachable', `no server runs on ${folder}`, {
    hint: 'bridge server start runs one; --url asks a node elsewhere',
  })
}

/** @throws CommandError when the certificate file cannot be read. */
export async function localFetch(cert: string | undefined): Promise<Target['fetch']> {
  if (cert === undefined) return {}
  const { httpFetch } = await import('../../startup/http-fetch.ts')
  try {
    return { fetch: httpFetch({ pinned: await readFile(cert, 'utf8') }) }
  } catch (cause) {
    throw new CommandError('usage', `cannot read the server's certificate ${cert}`, {
      hint: '--url asks it under the name that clients use',
      cause,
    })
  }
}

/**
 * Lists the nodes that share the database of this folder. Undefined on SQLite, or if the database does not
 * answer.
 */
async function nodesOf(context: CliContext, { data }: StatusOptions): Promise<NodeInfo[] | undefined> {
  const loaded = await server()
  try {
    return await loaded.listNodes(configOf(loaded, context, data === undefined ? {} : { data }))
  } catch {
    // Readiness says that the database does not answer.
    return undefined
  }
}

const statusText = (
  baseUrl: string,
  { health, readiness }: NodeStatus,
  packages: string | undefined,
): string =>
  fields([
    ['node', baseUrl],
    ['server id', health.server_id],
    ['version', `${health.build.version} (${health.build.commit})`],
    ['stage', health.stage],
    ['portal', health.portal_origin],
    ...(packages === undefined
      ? []
      : [
          [
            'packages',
            readiness.packages ? packages : `${packages} does not answer, see bridge server doctor`,
          ] as const,
        ]),
    ['ready', readiness.ready ? 'yes' : 'no'],
  ])
