/**
 * Certificate and key of a server with TLS: reads them, checks them, and reads them again after a renewal.
 *
 * - Both are checked before they are used, so that a half-written pair never replaces a working one.
 * - The server checks the files every minute and on SIGHUP, because renewal tools replace files without
 *   notifying anyone.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext, type Server } from 'node:tls'
import type { FastifyBaseLogger } from 'fastify'
import { ConfigError } from '../config-error.ts'
import type { TlsFiles } from './exposure.ts'

export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
  /** The first certificate in the file, which is the server's own. */
  readonly leaf: X509Certificate
  readonly expires: Date
}

/** Reads and checks both files. @throws ConfigError that names the file and what is wrong with it */
export function readCertificate(files: TlsFiles): Certificate {
  const cert = readFile('tls_cert', files.cert)
  const key = readFile('tls_key', files.key)
  const leaf = leafOf(files.cert, cert)
  try {
    createSecureContext({ cert, key })
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException
    const words =
      code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH'
        ? `is not the key of the first certificate in tls_cert ${files.cert}`
        : `is not an unencrypted private key in PEM (${code})`
    throw new ConfigError(`tls_key ${files.key} ${words}`, { cause })
  }
  return { cert, key, leaf, expires: new Date(leaf.validTo) }
}

function leafOf(path: string, cert: Buffer): X509Certificate {
  try {
    return new X509Certificate(cert)
  } catch (cause) {
    throw new ConfigError(`tls_cert ${path} does not begin with a certificate in PEM`, { cause })
  }
}

function readFile(setting: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException
    throw new ConfigError(`${setting} ${path} cannot be read (${code})`, { cause })
  }
}

export interface Renewal {
  /** Reads the files now. If they are unusable, the last pair stays in use and the error is logged. */
  reload(): void
  stop(): void
}

interface Renewing {
  readonly files: TlsFiles
  readonly server: Server
  readonly log: FastifyBaseLogger
  readonly clock: () => Date
}

const everyMs = 60_000

/** Watches the files and installs a renewed pair. Open connections keep the old certificate. */
export function watchCertificate({ files, server, log, clock }: Renewing): Renewal {
  let used = fingerprintOf(files)
  const reload = () => {
    const fingerprint = fingerprintOf(files)
    try {
      const { cert, key, expires } = readCertificate(files)
      server.setSecureContext({ cert, key })
      used = fingerprint
      log.info({ expires }, 'certificate reloaded')
      warnOfExpiry(expires, clock(), log)
    } catch (error) {
      log.error({ err: error }, 'the renewed certificate is unusable; the last one stays in use')
    }
  }
  const timer = setInterval(() => {
    if (fingerprintOf(files) !== used) reload()
  }, everyMs)
  timer.unref()
  return { reload, stop: () => clearInterval(timer) }
}

const dayMs = 86_400_000

/** Logs the expiry. Clients refuse an expired certificate, while the node itself keeps running. */
export function warnOfExpiry(expires: Date, now: Date, log: FastifyBaseLogger): void {
  const days = Math.floor((expires.getTime() - now.getTime()) / dayMs)
  if (days < 0) log.error({ expires }, 'the certificate has expired; clients refuse it')
  else if (days < 7) log.warn({ expires }, 'the certificate expires within a week')
}

/** Fingerprint of the files that changes when one is replaced, also behind a symbolic link. */
function fingerprintOf({ cert, key }: TlsFiles): string {
  return [cert, key]
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false, bigint: true })
      return found === undefined ? 'none' : `${found.ino} ${found.size} ${found.mtimeNs}`
    })
    .join(', ')
}
