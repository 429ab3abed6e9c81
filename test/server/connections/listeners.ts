/** One node that speaks plain HTTP and one that speaks TLS. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { type BridgeOptions, startBridge, type TestBridge } from '../../support/bridge.ts'
import { issue } from '../../support/certificates.ts'
import { leaveAll } from '../../support/raw-client.ts'

export type Listener = 'http' | 'https'

export interface Listeners extends Readonly<Record<Listener, TestBridge>> {
  close(): Promise<void>
}

/** Starts one node of each kind. */
export async function startListeners(options: BridgeOptions = {}): Promise<Listeners> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-listeners-'))
  const [tls_cert, tls_key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const { cert, key } = await issue({ name: 'test server', hosts: ['127.0.0.1'] })
  writeFileSync(tls_cert, cert)
  writeFileSync(tls_key, key, { mode: 0o600 })
  const usualAuthorities = getCACertificates('default')
  setDefaultCACertificates([...usualAuthorities, cert])
  const http = await startBridge(options)
  const https = await startBridge({ ...options, settings: { ...options.settings, tls_cert, tls_key } })
  return {
    http,
    https,
    async close() {
      leaveAll()
      await Promise.all([http.close(), https.close()])
      setDefaultCACertificates(usualAuthorities)
      rmSync(folder, { recursive: true })
    },
  }
}
