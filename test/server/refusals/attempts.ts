/**
 * Requests that must be refused, made from one that is accepted.
 *
 * Each endpoint's good request is made ready once and never sent while its bad relatives are; it is sent at
 * the end, so that a refusal is known to come from what was wrong.
 */
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import type { ErrorCode } from '../../../sdk/contract/errors.ts'
import { type EndpointId, endpoints } from '../../../sdk/contract/index.ts'
import { expectRefusal, expectSuccess } from '../endpoints/answers.ts'
import type { CaseOf } from '../endpoints/case.ts'
import { cases } from '../endpoints/cases.ts'
import { type Ready, send } from '../endpoints/send.ts'
import { startWorld, type World } from '../endpoints/world.ts'
import { type Stored, StoredReader } from './stored.ts'

export interface Attempt {
  readonly what: string
  readonly ready: Ready
  readonly code: ErrorCode
  /** One of `details.faults` must name it. */
  readonly path?: string
  /** What that fault, or else the message, must say. */
  readonly says?: RegExp
}

/** So many at once, that they share commits and the machine keeps up. */
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

  /** The request of an endpoint that is accepted as it stands. */
  ready(entry: EndpointSpec): Ready {
    const ready = this.#ready.get(entry.id)
    if (ready === undefined) throw new Error(`${entry.id} has no request`)
    return ready
  }

  /** Every attempt is refused as it says, and nothing is stored. */
  async expectRefused(entry: EndpointSpec, attempts: readonly Attempt[]): Promise<void> {
    const before = this.#stored()
    for (let next = 0; next < attempts.length; next += atOnce) {
      await Promise.all(attempts.slice(next, next + atOnce).map((attempt) => refused(entry, attempt)))
    }
    const after = this.#stored()
    // Compared quickly; where they differ, the tables show where.
    if (!isDeepStrictEqual(after, before)) expect(after).toEqual(before)
  }

  /** The request without a fault is accepted. */
  async expectAccepted(entry: EndpointSpec, ready: Ready = this.ready(entry)): Promise<void> {
    expectSuccess(entry, await send(entry, ready))
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

/** Beside each endpoint its place in the contract, for {@link rowsAt}. */
export const named = (entries: readonly EndpointSpec[]) =>
  entries.map((entry) => ({ id: entry.id, entry, place: endpoints.findIndex(({ id }) => id === entry.id) }))

/** The endpoints that answer once, in JSON; streams and sockets have tests of their own. */
export const answering = endpoints.filter(({ stream }) => !stream)

export const withBody = answering.filter((entry) => entry.body !== undefined)
