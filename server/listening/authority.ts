/**
 * The certificate authority that prompts hand to agents, so that they can verify this node.
 *
 * - With `tls_ca` it is the certificates of that file.
 * - Otherwise, if `tls_cert` ends with a self-signed certificate which Node does not trust anyway, it is that one.
 * - Otherwise there is none: clients know the authority, or the owner tells them.
 *
 * The files are read for each prompt, because renewal tools replace them. Only certificates leave this file: a private
 * key in the same file stays where it is. Contract §4.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import { ConfigError } from '../config-error.ts'
import type { TlsFiles } from './exposure.ts'

export interface AuthorityFiles {
  readonly tls: TlsFiles | undefined
  readonly tlsCa: string | undefined
}

/** More would make a prompt too long. An authority has one certificate, or two while it is replaced. */
const most = 4

/** Returns certificates in PEM, or undefined. @throws ConfigError if a file is unusable */
export function authorityOf({ tls, tlsCa }: AuthorityFiles): string | undefined {
  if (tlsCa !== undefined) {
    const found = certificatesIn('tls_ca', tlsCa)
    if (found.length > 0 && found.length <= most) return found.map(String).join('')
    throw new ConfigError(`tls_ca ${tlsCa} must hold 1 to ${most} certificates in PEM, not ${found.length}`)
  }
  const last = tls === undefined ? undefined : certificatesIn('tls_cert', tls.cert).at(-1)
  return last !== undefined && isOwnAuthority(last) ? last.toString() : undefined
}

function certificatesIn(setting: string, path: string): X509Certificate[] {
  try {
    const text = readFileSync(path, 'latin1')
    const pems = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
    return pems.map((pem) => new X509Certificate(pem))
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException
    throw new ConfigError(`${setting} ${path} cannot be read (${code})`, { cause })
  }
}

function isOwnAuthority(certificate: X509Certificate): boolean {
  if (!certificate.checkIssued(certificate)) return false
  return !rootCertificates.some(
    (known) => new X509Certificate(known).fingerprint256 === certificate.fingerprint256,
  )
}
