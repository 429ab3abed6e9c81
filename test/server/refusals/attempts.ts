/**
 * Requests that must be refused, derived from an accepted one.
 *
 * Each endpoint's valid request is prepared once. It is sent only after the invalid ones, and its success
 * shows that they were refused for their fault.
 */
import { expect, onTestFinished } from 'vitest'
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import type { ErrorCode } from '../../../sdk/contract/errors.ts'
import { type EndpointId, endpoints } from '../../../sdk/contract/index.ts'
import type { BridgeOptions } from '../../support/bridge.ts'
import { expectSame, type Stored, StoredReader } from '../../support/stored.ts'
import { expectRefusal, expectSuccess } from '../endpoints/answers.ts'
import type { CaseOf } from '../endpoints/case.ts'
import { cases } from '../endpoints/cases.ts'
import { type Ready, send } from '../endpoints/send.ts'
import { startWorld, type World } from '../endpoints/world.ts'

export interface Attempt {
  readonly what: string
  readonly ready: Ready
  readonly code: ErrorCode
  /** One of `details.faults` must have this path. */
  readonly path?: string
  /** A pattern for that fault, or else for the message. */
  readonly says?: RegExp
}

/** The number of attempts sent in parallel: they share commits, and the machine can keep up. */
const atOnce = 16

export class Attempts {
  readonly world: World
  readonly #ready: ReadonlyMap<string, Ready>
  readonly #readers = new Map<string, StoredReader>()

  private constructor(world: World, ready: ReadonlyMap<string, Ready>) {
    this.world = world
    this.#ready = ready
  }

  static async start(entries: readonly EndpointSpec[] = answering): Promise<Attempts> {
    const world = await startWorld()
    const ready = new Map<string, Ready>()
    for (const { id } of entries) {
      ready.set(id, await (cases[id as EndpointId] as CaseOf<never>).success(world))
    }
    return new Attempts(world, ready)
  }

  /** Returns the accepted request of an endpoint. */
  ready(entry: EndpointSpec): Ready {
    const ready = this.#ready.get(entry.id)
    if (ready === undefined) throw new Error(`${entry.id} has no request`)
    return ready
  }

  /** Expects that every attempt is refused as declared and that nothing is stored. */
  async expectRefused(entry: EndpointSpec, attempts: readonly Attempt[]): Promise<void> {
    const before = this.#stored()
    for (let next = 0; next < attempts.length; next += atOnce) {
      await Promise.all(attempts.slice(next, next + atOnce).map((attempt) => refused(entry, attempt)))
    }
    expectSame(this.#stored(), before)
  }

  /** Expects that the request without a fault is accepted. */
  async expectAccepted(entry: EndpointSpec, ready: Ready = this.ready(entry)): Promise<void> {
    expectSuccess(entry, await send(entry, ready))
  }

  /**
   * Starts a separate server for one test, which may move its clock, and ends it with the test. A minute after
   * its start it would remove what has expired by that clock, and a later test would find its store changed.
   */
  async elsewhere(options?: BridgeOptions): Promise<World> {
    const other = await this.world.elsewhere(options)
    const { data } = other.bridge
    onTestFinished(async () => {
      this.#readers.get(data)?.close()
      this.#readers.delete(data)
      await other.close()
    })
    return other
  }

  #stored(): Stored[] {
    return this.world.folders.map((folder) => {
      const reader = this.#readers.get(folder) ?? new StoredReader(folder)
      this.#readers.set(folder, reader)
      return reader.read()
    })
  }

  close(): Promise<void> {
    for (const reader of this.#readers.values()) reader.close()
    return this.world.close()
  }
}

async function refused(entry: EndpointSpec, { what, ready, code, path, says }: Attempt): Promise<void> {
  const body = expectRefusal(await send(entry, ready), code, what)
  if (path === undefined) {
    if (says) expect(body.message, what).toMatch(says)
    return
  }
  const faults = (body.details?.faults ?? []) as readonly { path: string; problem: string }[]
  expect(
    faults.map((fault) => fault.path),
    what,
  ).toContain(path)
  if (says) expect(faults.find((fault) => fault.path === path)?.problem, what).toMatch(says)
}

/** Adds to each endpoint its index in the contract, for {@link rowsAt}. */
export const named = (entries: readonly EndpointSpec[]) =>
  entries.map((entry) => ({ id: entry.id, entry, place: endpoints.findIndex(({ id }) => id === entry.id) }))

/** The endpoints that answer once with JSON; streams and sockets have separate tests. */
export const answering = endpoints.filter(({ stream }) => !stream)

export const withBody = answering.filter((entry) => entry.body !== undefined)
