/**
 * The nodes that serve one installation, as one of them sees them. SQLite has one node, which always leads.
 *
 * Work over all projects, such as maintenance, runs at the leader only. Two nodes may both believe for a
 * moment that they lead, so such work must be safe if two nodes do it.
 */
export interface Nodes {
  /** Id of this node among the others. A node that starts again has another one. */
  readonly id: string
  /** Whether this node may answer. If it has been silent for too long, the others count it as ended. */
  isMember(): boolean
  /** Whether work over all projects is this node's. */
  leads(): boolean
  /** Calls back each time this node becomes the leader. */
  onLead(act: () => void): void
  /** Calls back each time this node serves again after the others may have counted it as ended. */
  onReturn(act: () => void): void
  /** Lets another node lead, before this one ends. It answers requests until then. */
  stepDown(): Promise<void>
  /** Lists the nodes that are alive, by name. */
  list(): Promise<readonly NodeEntry[]>
  /** Lists the nodes that this one has seen end, as of its last look. */
  ended(): readonly EndedEntry[]
}

/** One node, as the others see it. */
export interface NodeEntry {
  readonly id: string
  readonly name: string
  /** Version of its program. */
  readonly version: string
  readonly startedAt: string
  /** Time of its last beat. */
  readonly seenAt: string
  readonly leads: boolean
  readonly load: NodeLoad
  /** How late its last beat was confirmed: a busy node, or a slow database. */
  readonly lagMs: number
}

/** A node that ended in the last 24 hours, and whose name does not serve again. */
export interface EndedEntry extends Pick<NodeEntry, 'id' | 'name' | 'version' | 'seenAt'> {
  /** Whether it ended by itself. Otherwise its beats stopped. */
  readonly left: boolean
}

/** Load of a node. */
export interface NodeLoad {
  /** Load of the processors of its host. */
  readonly percent: number
  /** Long-polls, streams and sockets that wait at it. */
  readonly waits: number
}

/** This node, as it introduces itself to the others. */
export interface NodeSelf {
  readonly name: string
  readonly version: string
  readonly load: () => NodeLoad
  /** Without them, no other node may serve meanwhile. */
  readonly settings?: SharedSettings
  /** Number of the last migration that its program has, by default all of them. */
  readonly program?: number
}

/** Settings that all nodes of a database share. */
export interface SharedSettings {
  /** Setting portal_origin. Empty if each node is reached at its own address. */
  readonly portalOrigin: string
  /** Store of packages: `folder`, `none`, or `s3://bucket/prefix`. */
  readonly packages: string
}

/** The only node of a database. */
export function loneNode(id: string, self: NodeSelf | undefined, clock: () => Date): Nodes {
  const startedAt = clock().toISOString()
  return {
    id,
    isMember: () => true,
    leads: () => true,
    onLead: () => {},
    onReturn: () => {},
    stepDown: async () => {},
    ended: () => [],
    async list() {
      const seenAt = clock().toISOString()
      if (self === undefined) return []
      const { name, version, load } = self
      return [{ id, name, version, startedAt, seenAt, leads: true, load: load(), lagMs: 0 }]
    },
  }
}
