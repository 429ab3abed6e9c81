/**
 * Look-up of names in the calls of an `Owner`: of projects, agents, environments and administrators.
 *
 * - Every call passes through here before it is sent. Ids stay unchanged.
 * - A name can move to another agent, so a call that changes something always looks names up. A call that only
 *   reads may use a look-up that is at most 10 seconds old and newer than the last change.
 *
 * Contract §10, §13.
 */
import type { EndpointSpec, ResponseOf } from '../contract/endpoint.ts'
import { asId, whoThereIs } from '../names.ts'
import type { Call } from '../resources/call.ts'
import { OwnerAdministrators } from '../resources/owner/administrators.ts'
import { OwnerAgents } from '../resources/owner/agents.ts'
import { OwnerEnvironments } from '../resources/owner/environments.ts'
import { OwnerProjects } from '../resources/owner/projects.ts'
import { LocalError } from '../transport/failures.ts'
import type { CallInput, CallOptions, KeyedOptions } from '../transport/http.ts'

type Noun = 'project' | 'agent' | 'environment' | 'administrator'

interface Named {
  readonly id: string
  readonly name: string
}

/** Fields of params, queries and bodies that take an id or a name. */
const nouns: Readonly<Record<string, Noun>> = {
  project_id: 'project',
  agent_id: 'agent',
  agent_ids: 'agent',
  recipient_agent_id: 'agent',
  assignee_agent_id: 'agent',
  actor_id: 'agent',
  subject_id: 'agent',
  environment_id: 'environment',
}

const freshMs = 10_000

type Fields = Readonly<Record<string, unknown>>

/** Context of the look-ups of one call. */
interface Asking {
  readonly project: string | undefined
  readonly mayRemember: boolean
  readonly options: CallOptions
}

export class OwnerNames {
  readonly #call: Call
  readonly #projects: OwnerProjects
  readonly #agents: OwnerAgents
  readonly #environments: OwnerEnvironments
  readonly #administrators: OwnerAdministrators
  readonly #monotonicMs: () => number
  readonly #found = new Map<string, { readonly id: string; readonly atMs: number }>()

  /** `call` sends a call without look-ups. */
  constructor(call: Call, monotonicMs: () => number) {
    this.#call = call
    this.#projects = new OwnerProjects(call)
    this.#agents = new OwnerAgents(call)
    this.#environments = new OwnerEnvironments(call)
    this.#administrators = new OwnerAdministrators(call)
    this.#monotonicMs = monotonicMs
  }

  /** Replaces names by ids and sends the call. @throws LocalError `name_unknown`, `name_ambiguous` */
  async call<const E extends EndpointSpec>(
    entry: E,
    input: CallInput<E>,
    options: KeyedOptions = {},
  ): Promise<ResponseOf<E>> {
    try {
      return await this.#call(entry, await this.#resolved(entry, input, options), options)
    } finally {
      if (changes(entry)) this.#found.clear()
    }
  }

  async #resolved<E extends EndpointSpec>(
    entry: E,
    input: CallInput<E>,
    { signal, timeoutMs }: CallOptions,
  ): Promise<CallInput<E>> {
    const { params, query, body } = input as { params?: Fields; query?: Fields; body?: unknown }
    const options = { signal, timeoutMs }
    const asked = { mayRemember: !changes(entry), options }
    const asking = { ...asked, project: await this.#target(entry, params, asked) }
    const parts = {
      ...(input as object),
      ...(params && { params: await this.#ids(withTarget(params, asking.project), asking) }),
      ...(query && { query: await this.#ids(query, asking) }),
      ...(isFields(body) && { body: await this.#ids(body, asking) }),
    }
    return parts as CallInput<E>
  }

  /** Returns the id of the project or administrator in the path. */
  async #target(
    { path }: EndpointSpec,
    params: Fields | undefined,
    asked: Omit<Asking, 'project'>,
  ): Promise<string | undefined> {
    const noun = targets.find(([prefix]) => path.startsWith(prefix))?.[1]
    if (noun === undefined || typeof params?.id !== 'string') return undefined
    return this.#id(noun, params.id, { ...asked, project: undefined })
  }

  async #ids(fields: Fields, asking: Asking): Promise<Fields> {
    const entries = Object.entries(fields).map(async ([key, value]) => {
      const noun = Object.hasOwn(nouns, key) ? nouns[key] : undefined
      return [key, noun === undefined ? value : await this.#value(noun, value, asking)] as const
    })
    return Object.fromEntries(await Promise.all(entries))
  }

  async #value(noun: Noun, value: unknown, asking: Asking): Promise<unknown> {
    if (typeof value === 'string') return this.#id(noun, value, asking)
    if (!Array.isArray(value)) return value
    return Promise.all(value.map((each) => this.#value(noun, each, asking)))
  }

  async #id(noun: Noun, wanted: string, asking: Asking): Promise<string> {
    const id = asId(wanted)
    if (id !== undefined) return id
    const key = [noun, noun === 'agent' || noun === 'environment' ? asking.project : '', wanted].join('\n')
    const known = asking.mayRemember ? this.#found.get(key) : undefined
    if (known !== undefined && this.#monotonicMs() - known.atMs < freshMs) return known.id
    const found = await this.#lookUp(noun, wanted, asking)
    this.#found.set(key, { id: found, atMs: this.#monotonicMs() })
    return found
  }

  async #lookUp(noun: Noun, wanted: string, asking: Asking): Promise<string> {
    const all: Named[] = []
    for await (const each of this.#all(noun, asking)) all.push(each)
    const [found, ...others] = all.filter(({ name }) => name === wanted)
    if (found === undefined) {
      throw new LocalError('name_unknown', `no ${noun} has the name ${wanted}; ${whoThereIs(wanted, all)}`)
    }
    if (others.length === 0) return found.id
    const ids = [found, ...others].map(({ id }) => id).join(', ')
    throw new LocalError('name_ambiguous', `more than one ${noun} has the name ${wanted}: ${ids}`)
  }

  #all(noun: Noun, { project = '', options }: Asking): AsyncIterable<Named> {
    if (noun === 'project') return this.#projects.all(options)
    if (noun === 'administrator') return this.#administrators.all(options)
    if (noun === 'environment') return this.#environments.all(project, options)
    return this.#agents.all(project, options)
  }
}

const changes = ({ method }: EndpointSpec): boolean => method !== 'GET'

/** Noun of the parameter `{id}`, by the beginning of the path. */
const targets: readonly (readonly [prefix: string, noun: Noun])[] = [
  ['/api/admin/projects/{id}', 'project'],
  ['/api/admin/administrators/{id}', 'administrator'],
]

const withTarget = (params: Fields, id: string | undefined): Fields =>
  id === undefined ? params : { ...params, id }

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
