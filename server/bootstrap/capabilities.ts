/**
 * The capabilities of this node now. One is false if the node would refuse it to every caller.
 *
 * - Long-poll, event stream and socket are served by every node that serves the bootstrap.
 * - Packages need room: in the settings, and on the disk.
 * - A direct transfer needs room for its offer, and the envelope key that its endpoint is sealed with.
 *
 * Contract §5 "a capability says what this node does now".
 */
import type { Bootstrap } from '../../sdk/contract/agent/bootstrap.ts'
import type { Context } from '../context.ts'
import { isEnvelopeKey } from '../host/envelope/keys.ts'

export type Capabilities = Bootstrap['capabilities']

export function capabilitiesOf({
  config,
  storage,
  storeState,
}: Pick<Context, 'config' | 'storage' | 'storeState'>): Capabilities {
  const hasRoom = storage.state !== 'full' && storeState() !== 'full'
  const { packageBytes, packagesBytes, senderPackagesBytes } = config
  const takesPackages = Math.min(packageBytes, packagesBytes, senderPackagesBytes) > 0
  return {
    inbox: true,
    sse: true,
    socket: true,
    packages: hasRoom && takesPackages,
    direct: hasRoom && isEnvelopeKey(config.envelopeKeyFile),
  }
}
