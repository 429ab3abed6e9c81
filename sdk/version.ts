/** Name and version that clients send to the node. A test compares the version with package.json. */
import type { Client } from './contract/agent/enrollments.ts'

/** The version of this package. */
export const version = '0.1.0'

/** The oldest version of Node that runs the programs of this package. */
export const oldestNode = '22.19.0'

/** Client name and version if the program gives none. */
export const defaultClient: Client = { name: 'agent-bridge', version }

/** Returns the `User-Agent` header. Characters outside printable ASCII become `-`. */
export const userAgentOf = (client: Client): string =>
  `${client.name}/${client.version}`.replace(/[^\x21-\x7e]+/g, '-')
