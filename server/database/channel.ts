/** Interface of the channel between the nodes of one database. SQLite has one node and no channel. */
export interface Channel {
  /** Id of this node. */
  readonly self: string
  /** A payload must be shorter. */
  readonly maxBytes: number
  /** Opens the connection that hears what all nodes send, this one included. @throws errors of connecting */
  connect(events: ChannelEvents): Promise<ChannelConnection>
  /** Sends a payload on another connection, so that it tests whether the first one hears it. */
  sendApart(payload: string): Promise<void>
}

export interface ChannelEvents {
  onPayload(payload: string): void
  /** Called once when the connection has ended, whatever the cause. */
  onEnd(): void
}

export interface ChannelConnection {
  /** Sends payloads to all nodes. @throws errors of the connection */
  send(payloads: readonly string[]): Promise<void>
  /** Ends the connection at once, without a word to the database. */
  drop(): void
}
