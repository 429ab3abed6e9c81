/** What clients name to the service. A test holds the version to package.json. */
import type { Client } from './contract/agent/enrollments.ts'

/** The version of this package. */
export const version = '0.1.0'

/** A client that was not given a name of its own. */
export const defaultClient: Client = { name: 'agent-bridge', version }

/** `User-Agent`: printable ASCII whatever the name holds. */
export const userAgentOf = (client: Client): string =>
  `${client.name}/${client.version}`.replace(/[^\x21-\x7e]+/g, '-')
