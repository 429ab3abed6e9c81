/**
 * The bytes of one request to each endpoint of the contract, from a permitted caller or without a credential.
 */

import { client } from '../../../sdk/contract/client.ts'
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import { fileOf, sha256 } from '../../support/files.ts'
import { transports } from '../listeners/crowd.ts'
import { leastOf, unknownId } from './bodies.ts'
import type { Place, Scene } from './scene.ts'

export const kinds = [
  'public',
  'agent reads',
  'agent writes',
  'owner reads',
  'owner writes',
  'streams',
  "transfers' bytes",
  // Last, because passwords that wait for their check outlast the attack.
  'passwords',
] as const
export type Kind = (typeof kinds)[number]

const passwords = [
  'owner.signIn.setup',
  'owner.signIn.start',
  'owner.signIn.confirm',
  'owner.signIn.password',
]

/** An endpoint of the contract, or a path of the owner's page. */
export type Entry = Omit<EndpointSpec, 'path'> & { readonly path: string }

/** The owner's page and its largest file, which the contract does not list. */
export const pageOf = ({ assets }: Scene): Entry[] =>
  ['/', ...assets].map((path) => ({ ...client.get, id: `page ${path}`, path }))

export function kindOf({ id, stream, bytes, caller, method }: Entry): Kind {
  if (stream !== undefined) return 'streams'
  if (bytes !== undefined) return "transfers' bytes"
  if (passwords.includes(id)) return 'passwords'
  if (caller === 'owner') return method === 'GET' ? 'owner reads' : 'owner writes'
  if (caller.startsWith('agent')) return method === 'GET' ? 'agent reads' : 'agent writes'
  return 'public'
}

/** A few hundred bytes that are not part of the offered file. */
const part = fileOf(500)

interface Target {
  readonly place: Place
  readonly target: string
  readonly body: Buffer | undefined
}

function targetOf({ read, written }: Scene, entry: Entry): Target {
  const place = entry.method === 'GET' ? read : written
  const { pending = '', ...ids } = place.ids
  const named = { ...ids, parts: '0', ...(entry.bytes === 'request' && { transfers: pending }) }
  const path = entry.path.replace(
    /([a-z]+)\/\{[a-z_]+\}/g,
    (_, noun: keyof typeof named) => `${noun}/${named[noun] ?? unknownId}`,
  )
  const properties = (entry.query as { properties?: object } | undefined)?.properties ?? {}
  const query = ['limit=100', 'after_sequence=0'].filter((each) => (each.split('=')[0] ?? '') in properties)
  const body = entry.body === undefined ? undefined : Buffer.from(JSON.stringify(leastOf(entry.body, ids)))
  return {
    place,
    target: query.length === 0 ? path : `${path}?${query.join('&')}`,
    body: entry.bytes === 'request' ? part : body,
  }
}

/** Returns requests of a permitted caller; each call of the result makes a fresh one. */
export function permitted(scene: Scene, entry: Entry): () => Buffer {
  const { place, target, body } = targetOf(scene, entry)
  const { agent } = place
  const socket = transports[0]?.[1]
  if (entry.stream === 'socket' && socket !== undefined)
    return () => Buffer.concat([socket.opens(agent), socket.accepted?.(agent) ?? Buffer.alloc(0)])
  if (!entry.caller.startsWith('agent'))
    return () => bytesOf(scene, entry, target, body, credentials(scene, entry))
  const { method } = entry
  const session = entry.caller === 'agent-without-session' ? { session: null } : {}
  const key = entry.idempotent ? {} : { key: null }
  const call = { method, target, ...(body !== undefined && { body }), ...session, ...key }
  const stated = entry.bytes === 'request' ? [['X-Content-SHA256', sha256(part)] as const] : []
  return () => bytesOf(scene, entry, target, body, [...agent.sign(call, body ?? ''), ...stated])
}

/** Returns the same request without any credential. */
export function anonymous(scene: Scene, entry: Entry): Buffer {
  const { target, body } = targetOf(scene, entry)
  if (entry.stream === 'socket') return transports[0]?.[1].opens(scene.observer) ?? Buffer.alloc(0)
  const stated = entry.bytes === 'request' ? [['X-Content-SHA256', sha256(part)] as const] : []
  return bytesOf(scene, entry, target, body, [...origin(scene, entry), ...type(body), ...stated])
}

type Headers = readonly (readonly [name: string, value: string])[]

const type = (body: Buffer | undefined): Headers =>
  body === undefined ? [] : [['Content-Type', 'application/json']]

const origin = ({ server }: Scene, { caller, method }: Entry): Headers =>
  caller.startsWith('owner') && method === 'POST' ? [['Origin', server.url]] : []

function credentials(scene: Scene, entry: Entry): Headers {
  const { owner, telemetryToken } = scene
  const known: Headers =
    entry.caller === 'telemetry'
      ? [['Authorization', `Bearer ${telemetryToken}`]]
      : entry.caller === 'owner'
        ? [['Cookie', owner.cookie]]
        : []
  const key: Headers = entry.idempotent ? [['Idempotency-Key', crypto.randomUUID()]] : []
  const json: Headers = entry.body === undefined ? [] : [['Content-Type', 'application/json']]
  return [...known, ...origin(scene, entry), ...key, ...json]
}

function bytesOf(
  { server }: Scene,
  { method }: Entry,
  target: string,
  body: Buffer | undefined,
  headers: Headers,
): Buffer {
  const all = [['Host', `127.0.0.1:${server.port}`], ...headers]
  if (body !== undefined) all.push(['Content-Length', String(body.length)])
  const head = all.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${head}\r\n`), body ?? Buffer.alloc(0)])
}
