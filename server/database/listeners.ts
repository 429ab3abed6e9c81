/** The agents that wait at each node of a database. */
export interface Listener {
  readonly agent_id: string
  readonly project_id: string
  /** Whether a wait, an upload or a download is open. */
  readonly waiting: 0 | 1
  /** Whether a wait for messages is open. */
  readonly listening: 0 | 1
  /** Steady time of this state. */
  readonly since: string
  /** When the last wait for messages ended, in steady time. */
  readonly ended_at: string | null
}

export interface ListenerAt extends Listener {
  readonly node_id: string
}

/** Sums over the waits at other nodes. A node compares those of the table with its memory. */
export interface ListenersSummary {
  /** Agents that wait at a node, counted for each node. */
  readonly waiting: number
  /** Those that wait for messages. */
  readonly listening: number
  /** When the last of these waits began. */
  readonly since: string | null
}

export interface OthersSummary extends ListenersSummary {
  /** Ids of the nodes that are alive, this one included. */
  readonly nodes: readonly string[]
}

export interface Listeners {
  /** Stores the state of agents at this node. */
  write(listeners: readonly Listener[]): Promise<void>
  /** Reads the states at the other nodes that are alive. */
  readOthers(): Promise<readonly ListenerAt[]>
  /** Reads a summary of the same states. */
  readSummary(): Promise<OthersSummary>
  /** Removes the states at nodes that have ended, and those of agents that have long left this one. */
  clean(): Promise<void>
}
