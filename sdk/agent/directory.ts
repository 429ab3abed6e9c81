/**
 * Directory: finds the agent and the conversation for a name such as `ben` or `owner`.
 *
 * - It caches what it looked up, so that a send to a known peer is one request.
 * - A name can move to another agent, so the cache is valid for one hour.
 *
 * Contract §12.
 */
import type { Message } from '../contract/agent/messages.ts'
import type { Peer } from '../contract/agent/peers.ts'
import { asId, whoThereIs } from '../names.ts'
import { LocalError } from '../transport/failures.ts'
import type { CallOptions } from '../transport/http.ts'

export interface KnownPeer {
  readonly id: string
  readonly name: string
  readonly conversation_id: string | null
}

/** Cached peers. */
export interface KnownPeers {
  readonly peers: readonly KnownPeer[]
  readonly owner_conversation_id: string | null
  /** Time at which the peers were read. */
  readonly read_at: string | null
}

/** Store of a directory between runs. Several processes may share one. */
export interface DirectoryStore {
  load(): Promise<KnownPeers>
  save(known: KnownPeers): Promise<void>
}

/** A directory without entries. */
export const nobodyKnown: KnownPeers = { peers: [], owner_conversation_id: null, read_at: null }

/** Returns a store in memory, for a client in one process. */
export function memoryDirectory(): DirectoryStore {
  let known = nobodyKnown
  return {
    load: async () => known,
    save: async (next) => {
      known = next
    },
  }
}

/** Address of a message. For a message to the owner, the agent is the caller itself. */
export interface MessageAddress {
  readonly recipient_agent_id: string
  readonly conversation_id: string
}

export interface DirectoryOptions {
  readonly store: DirectoryStore
  readonly agentId: string
  readonly clock: () => Date
  /** Yields the peers that the node permits. `Peers` implements it. */
  readonly peers: { all(options: CallOptions): AsyncIterable<Peer> }
  /** Opens the conversation with an agent. `Conversations` implements it. */
  readonly conversations: {
    open(agentId: string, options: CallOptions): Promise<{ readonly id: string }>
  }
}

const freshMs = 3_600_000

export class Directory {
  readonly #options: DirectoryOptions

  constructor(options: DirectoryOptions) {
    this.#options = options
  }

  /** Returns the cached address, or undefined. Sends no request. */
  async known(to: string): Promise<MessageAddress | undefined> {
    const { store, agentId } = this.#options
    const known = await store.load()
    if (this.#isOwner(to)) return addressOf(agentId, known.owner_conversation_id)
    const peer = this.#isFresh(known) ? find(known.peers, to) : undefined
    return peer && addressOf(peer.id, peer.conversation_id)
  }

  /** Returns the address from the cache or the node. @throws LocalError `peer_unknown` */
  async address(to: string, options: CallOptions = {}): Promise<MessageAddress> {
    const known = await this.known(to)
    if (known !== undefined) return known
    const { store, agentId, conversations } = this.#options
    if (this.#isOwner(to)) {
      const conversation = await conversations.open(agentId, options)
      await store.save({ ...(await store.load()), owner_conversation_id: conversation.id })
      return { recipient_agent_id: agentId, conversation_id: conversation.id }
    }
    return this.#addressOfPeer(await this.#peer(to, options), options)
  }

  /** Returns the cached names of peers by id. Sends no request. */
  async rememberedNames(): Promise<ReadonlyMap<string, string>> {
    const { peers } = await this.#options.store.load()
    return new Map(peers.map(({ id, name }) => [id, name]))
  }

  /** Returns the id of a peer, by name or id. @throws LocalError `peer_unknown` */
  async peerId(to: string, options: CallOptions = {}): Promise<string> {
    const { store } = this.#options
    const known = await store.load()
    const peer = this.#isFresh(known) ? find(known.peers, to) : undefined
    return (peer ?? (await this.#peer(to, options))).id
  }

  /**
   * Returns the id of a peer, or for `owner` the id of the caller itself. An id is not looked up.
   *
   * @throws LocalError `peer_unknown`
   */
  async agentId(to: string, options: CallOptions = {}): Promise<string> {
    if (this.#isOwner(to)) return this.#options.agentId
    return asId(to) ?? this.peerId(to, options)
  }

  /**
   * Returns the id of the conversation with a peer or the owner, or undefined if there is none.
   *
   * @throws LocalError `peer_unknown`
   */
  async conversation(to: string, options: CallOptions = {}): Promise<string | undefined> {
    const known = await this.known(to)
    if (known !== undefined) return known.conversation_id
    if (this.#isOwner(to)) return (await this.address(to, options)).conversation_id
    return (await this.#peer(to, options)).conversation_id ?? undefined
  }

  /** Reads the peers from the node and caches them. */
  async peers(options: CallOptions = {}): Promise<Peer[]> {
    const { store, peers, clock } = this.#options
    const all: Peer[] = []
    for await (const peer of peers.all(options)) all.push(peer)
    const remembered = all.map(({ id, name, conversation_id }) => ({ id, name, conversation_id }))
    await store.save({ ...(await store.load()), peers: remembered, read_at: clock().toISOString() })
    return all
  }

  /** Clears the cache, of which something turned out to be wrong. */
  async forget(): Promise<void> {
    await this.#options.store.save(nobodyKnown)
  }

  async #peer(to: string, options: CallOptions): Promise<Peer> {
    const all = await this.peers(options)
    const peer = find(all, to)
    if (peer !== undefined) return peer
    throw new LocalError('peer_unknown', `no permitted peer has the name or id ${to}; ${whoThereIs(to, all)}`)
  }

  async #addressOfPeer(peer: KnownPeer, options: CallOptions): Promise<MessageAddress> {
    if (peer.conversation_id !== null) {
      return { recipient_agent_id: peer.id, conversation_id: peer.conversation_id }
    }
    const { store, conversations } = this.#options
    const conversation = await conversations.open(peer.id, options)
    const known = await store.load()
    const peers = known.peers.map((one) =>
      one.id === peer.id ? { ...one, conversation_id: conversation.id } : one,
    )
    await store.save({ ...known, peers })
    return { recipient_agent_id: peer.id, conversation_id: conversation.id }
  }

  #isOwner(to: string): boolean {
    return to === 'owner' || to === this.#options.agentId
  }

  #isFresh({ read_at: readAt }: KnownPeers): boolean {
    const age = readAt === null ? Number.NaN : this.#options.clock().getTime() - Date.parse(readAt)
    return age >= 0 && age < freshMs
  }
}

const addressOf = (agentId: string, conversationId: string | null): MessageAddress | undefined =>
  conversationId === null ? undefined : { recipient_agent_id: agentId, conversation_id: conversationId }

/** Finds a peer by id, else by exact name. */
const find = <T extends KnownPeer>(peers: readonly T[], to: string): T | undefined =>
  peers.find((peer) => peer.id === to.toLowerCase()) ?? peers.find((peer) => peer.name === to)

/**
 * Returns the address of a reply: the other side of the message.
 *
 * @throws LocalError `peer_unknown` if the node itself sent the message.
 */
export function replyAddress(original: Message, agentId: string): MessageAddress {
  const { conversation_id, sender, recipient, recipient_agent_id: recipientId } = original
  if (sender.kind === 'system') {
    throw new LocalError(
      'peer_unknown',
      `message ${original.id} comes from the node itself, which reads no replies`,
    )
  }
  // In an owner conversation the recipient is always the agent itself.
  if (sender.kind === 'owner' && recipientId === agentId)
    return { conversation_id, recipient_agent_id: agentId }
  if (recipient.kind === 'owner') return { conversation_id, recipient_agent_id: agentId }
  const isOwn = sender.agent_id === agentId
  return { conversation_id, recipient_agent_id: isOwn ? recipientId : (sender.agent_id ?? recipientId) }
}
