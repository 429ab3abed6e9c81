/**
 * Current capabilities of this node. One is false if the node would refuse it to every caller.
 *
 * - Every node that answers the bootstrap serves long-poll, event stream and socket.
 * - Packages need a quota in the settings and free disk space.
 * - A direct transfer needs disk space for its offer and the envelope key that encrypts its endpoint.
 *
 * Contract §5 "a capability says what this node does now".
 */
import type { Bootstrap } from '../../sdk/contract/agent/bootstrap.ts'
import type { Context } from '../context.ts'
import { takesPackages } from '../packages-place.ts'
import { isEnvelopeKey } from '../storage/envelope-keys.ts'

export type Capabilities = Bootstrap['capabilities']

export function capabilitiesOf({
  config,
  storage,
  storeState,
}: Pick<Context, 'config' | 'storage' | 'storeState'>): Capabilities {
  const hasRoom = storage.state !== 'full' && storeState() !== 'full'
  return {
    inbox: true,
    sse: true,
    socket: true,
    packages: hasRoom && takesPackages(config),
    direct: hasRoom && isEnvelopeKey(config.envelopeKeyFile),
  }
}
