/**
 * Number of stored nonces of each credential, as far as this node knows, so that no credential can fill the
 * disk.
 *
 * The statement that spends nonces also counts the rows of a credential: at its first request on this node, and
 * after this node has spent a twentieth of the limit. Before a refusal it counts them at most once per second.
 * Other nodes and the purge change the table meanwhile. So each node may pass the limit by a twentieth and by
 * the requests of one group.
 */
import { limits } from '../../../sdk/contract/limits.ts'

export const recountEveryMs = 1000
const recountAfter = limits.noncesPerCredential / 20
/** Most credentials that a node remembers. It counts forgotten ones again. */
const maxEntries = 10_000

interface Known {
  /** Rows at the last count. */
  counted: number
  /** Nonces that this node has sent since. Some may not be stored, because their group failed. */
  added: number
  countedAtMs: number
}

export class NonceCounts {
  readonly #known = new Map<string, Known>()
  readonly #monotonicMs: () => number

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** Whether the last count was at the limit, and is recent. The credential is then refused without another. */
  isFull(credentialId: string): boolean {
    const known = this.#known.get(credentialId)
    return known !== undefined && known.counted >= limits.noncesPerCredential && !this.#isOld(known)
  }

  /** Whether the rows of the credential must be counted before more are added. */
  isDue(credentialId: string): boolean {
    const known = this.#known.get(credentialId)
    if (known === undefined || known.added >= recountAfter) return true
    if (known.counted + known.added < limits.noncesPerCredential) return false
    return known.counted < limits.noncesPerCredential || this.#isOld(known)
  }

  /** Notes the rows of a credential. Returns whether they are too many. */
  note(credentialId: string, counted: number): boolean {
    if (this.#known.size >= maxEntries) this.#known.clear()
    this.#known.set(credentialId, { counted, added: 0, countedAtMs: this.#monotonicMs() })
    return counted >= limits.noncesPerCredential
  }

  add(credentialId: string): void {
    const known = this.#known.get(credentialId)
    if (known !== undefined) known.added += 1
  }

  #isOld({ countedAtMs }: Known): boolean {
    return this.#monotonicMs() - countedAtMs >= recountEveryMs
  }
}
