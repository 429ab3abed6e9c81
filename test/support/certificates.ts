/**
 * Certificates for tests, made with `@peculiar/x509`: a root authority, an intermediate one, and servers with
 * any name and validity.
 */
import 'reflect-metadata'
import { KeyObject, randomUUID, webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import {
  BasicConstraintsExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'

export interface Issued {
  /** This certificate alone, in PEM, without its chain. */
  readonly cert: string
  readonly key: string
  readonly name: string
  readonly privateKey: webcrypto.CryptoKey
}

export interface Wanted {
  readonly name: string
  /** The DNS names and IP addresses of a server. An authority has none. */
  readonly hosts?: readonly string[]
  readonly from?: Date
  readonly until?: Date
}

const dayMs = 86_400_000
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** Issues a certificate signed by `issuer`, or a self-signed one. */
export async function issue({ name, hosts, from, until }: Wanted, issuer?: Issued): Promise<Issued> {
  const { privateKey, publicKey } = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const now = Date.now()
  const certificate = await X509CertificateGenerator.create({
    // 16 random bytes; the leading 1 makes the number positive.
    serialNumber: `1${randomUUID().replaceAll('-', '').slice(1)}`,
    subject: [{ CN: [name] }],
    issuer: [{ CN: [issuer?.name ?? name] }],
    notBefore: from ?? new Date(now - dayMs),
    notAfter: until ?? new Date(now + 30 * dayMs),
    publicKey,
    signingKey: issuer?.privateKey ?? privateKey,
    signingAlgorithm: algorithm,
    extensions: hosts === undefined ? authority() : server(hosts),
  })
  const key = KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }) as string
  return { cert: `${certificate.toString('pem')}\n`, key, name, privateKey }
}

export interface Chain {
  /** A label that is part of the names of its authorities. */
  readonly name: string
  readonly root: Issued
  readonly intermediate: Issued
  /** A server's certificate followed by its intermediate, as a server loads it. */
  server(wanted?: Partial<Wanted>): Promise<{ readonly cert: string; readonly key: string }>
}

/**
 * Makes a chain whose authorities have unique names: a client could otherwise mistake one chain for another.
 */
export const certificateChain = (label = 'test'): Promise<Chain> => chainNamed(`${label} ${randomUUID()}`)

/** Makes authorities with the same names and different keys. */
export const impostorOf = ({ name }: Chain): Promise<Chain> => chainNamed(name)

async function chainNamed(name: string): Promise<Chain> {
  const root = await issue({ name: `${name} root` })
  const intermediate = await issue({ name: `${name} intermediate` }, root)
  return {
    name,
    root,
    intermediate,
    async server(wanted = {}) {
      const hosts = ['localhost', '127.0.0.1', 'bridge.test']
      const leaf = await issue({ name: 'test server', hosts, ...wanted }, intermediate)
      return { cert: leaf.cert + intermediate.cert, key: leaf.key }
    },
  }
}

const authority = (): Extension[] => [
  new BasicConstraintsExtension(true, undefined, true),
  new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
]

const server = (hosts: readonly string[]): Extension[] => [
  new BasicConstraintsExtension(false, undefined, true),
  new SubjectAlternativeNameExtension(
    hosts.map((host) => ({ type: isIP(host) === 0 ? ('dns' as const) : ('ip' as const), value: host })),
  ),
]
