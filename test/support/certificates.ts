/**
 * Certificates for tests, written byte by byte: an authority, one below it, and servers of any name and age.
 *
 * X.509 version 3 over P-256 (RFC 5280); what a test needs of it and nothing else.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export interface Issued {
  /** This certificate alone, in PEM. */
  readonly cert: string
  readonly key: string
  readonly privateKey: KeyObject
  readonly name: string
}

export interface Wanted {
  readonly name: string
  /** Of a server: DNS names and IPv4 addresses. An authority has none. */
  readonly hosts?: readonly string[]
  readonly from?: Date
  readonly until?: Date
}

const dayMs = 86_400_000

/** Signed by `issuer`, or by itself. */
export function issue({ name, hosts, from, until }: Wanted, issuer?: Issued): Issued {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subjectKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const now = Date.now()
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    named(issuer?.name ?? name),
    sequence(time(from ?? new Date(now - dayMs)), time(until ?? new Date(now + 30 * dayMs))),
    named(name),
    subjectKey,
    tagged(3, sequence(...(hosts === undefined ? authority() : server(hosts)))),
  )
  const signature = sign('sha256', body, issuer?.privateKey ?? privateKey)
  const der = sequence(body, ecdsaWithSha256, bits(signature))
  const base64 = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    privateKey,
    name,
  }
}

export interface Chain {
  readonly root: Issued
  readonly intermediate: Issued
  /** A server's certificate with its intermediate behind it, as a server is given it. */
  server(wanted?: Partial<Wanted>): { readonly cert: string; readonly key: string }
}

export function certificateChain(name = 'test'): Chain {
  const root = issue({ name: `${name} root` })
  const intermediate = issue({ name: `${name} intermediate` }, root)
  return {
    root,
    intermediate,
    server(wanted = {}) {
      const hosts = ['localhost', '127.0.0.1', 'bridge.test']
      const leaf = issue({ name: 'test server', hosts, ...wanted }, intermediate)
      return { cert: leaf.cert + intermediate.cert, key: leaf.key }
    },
  }
}

const authority = () => [
  extension('551d13', true, sequence(element(0x01, Buffer.from([0xff])))),
  // keyCertSign, cRLSign
  extension('551d0f', true, element(0x03, Buffer.from([1, 0x06]))),
]

const server = (hosts: readonly string[]) => [
  extension('551d13', true, sequence()),
  extension('551d11', false, sequence(...hosts.map(host))),
]

const host = (name: string): Buffer =>
  /^[0-9.]+$/.test(name)
    ? element(0x87, Buffer.from(name.split('.').map(Number)))
    : element(0x82, Buffer.from(name))

const extension = (id: string, isCritical: boolean, value: Buffer): Buffer =>
  sequence(
    element(0x06, Buffer.from(id, 'hex')),
    ...(isCritical ? [element(0x01, Buffer.from([0xff]))] : []),
    element(0x04, value),
  )

function element(tag: number, content: Buffer): Buffer {
  const { length } = content
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...head]), content])
}

const sequence = (...parts: readonly Buffer[]): Buffer => element(0x30, Buffer.concat(parts))
const tagged = (number: number, content: Buffer): Buffer => element(0xa0 + number, content)
const integer = (bytes: Buffer): Buffer => element(0x02, bytes)
const bits = (bytes: Buffer): Buffer => element(0x03, Buffer.concat([Buffer.from([0]), bytes]))
/** GeneralizedTime, which has a year of four digits. */
const time = (date: Date): Buffer =>
  element(
    0x18,
    Buffer.from(
      `${date
        .toISOString()
        .replace(/\.\d+Z$/, '')
        .replace(/[-:T]/g, '')}Z`,
    ),
  )
const ecdsaWithSha256 = sequence(element(0x06, Buffer.from('2a8648ce3d040302', 'hex')))
const named = (name: string): Buffer =>
  sequence(
    element(0x31, sequence(element(0x06, Buffer.from('550403', 'hex')), element(0x0c, Buffer.from(name)))),
  )
