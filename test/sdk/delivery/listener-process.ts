/**
 * A listening agent as a separate process: reads one JSON argument and prints one JSON line per event.
 *
 * It exits with the error that ends listening, or when its parent dies and standard input closes.
 */
import { registerHooks } from 'node:module'
import type { IdentityRecord, ListenTransport } from '../../../sdk/index.ts'

export interface ListenerArguments {
  readonly baseUrl: string
  readonly identity: IdentityRecord
  /** PKCS#8 PEM. */
  readonly privateKey: string
  readonly instanceId: string
  readonly transports?: readonly ListenTransport[]
  readonly takeoverGrant?: string
}

export type ListenerLine =
  | { readonly started: number }
  | { readonly open: ListenTransport; readonly packages: readonly string[] }
  | { readonly body: string }
  | { readonly ended: string }

const packages = new Set<string>()
registerHooks({
  load(url, context, next) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]
    if (name !== undefined) packages.add(name)
    return next(url, context)
  },
})

const print = (line: ListenerLine) => process.stdout.write(`${JSON.stringify(line)}\n`)
process.stdin.once('end', () => process.exit(3)).resume()

const { baseUrl, identity, privateKey, instanceId, transports, takeoverGrant } = JSON.parse(
  process.argv[2] ?? '{}',
) as ListenerArguments
const { BridgeError, Bridge, Identity, importPrivateKey, memorySessions } = await import(
  '../../../sdk/program.ts'
)
const bridge = new Bridge({
  baseUrl,
  identity: new Identity(identity, { privateKey: importPrivateKey(privateKey) }),
  sessions: memorySessions(instanceId),
  transports,
})
try {
  const { generation } = await bridge.sessions.start({ takeoverGrant })
  print({ started: generation })
  const onTransport = (open: ListenTransport) => print({ open, packages: [...packages].sort() })
  for await (const { body } of bridge.listen({ onTransport })) print({ body })
} catch (error) {
  print({ ended: error instanceof BridgeError ? error.code : String(error) })
}
await bridge.close()
process.exit(0)
