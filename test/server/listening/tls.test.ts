/**
 * A node that speaks TLS with a chain of root, intermediate and server certificate: the work of agents and
 * owners, the refusals of clients, and a renewal.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LocalError } from '../../../sdk/index.ts'
import { nodeStatus } from '../../../sdk/index.ts'
import { ConfigError } from '../../../server/config-error.ts'
import { readCertificate } from '../../../server/listening/certificate.ts'
import { trustAlso } from '../../support/authorities.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { certificateChain, impostorOf, issue } from '../../support/certificates.ts'
import { Desk } from '../../support/desk.ts'
import { exchange } from '../../support/http.ts'
import { ownerName, ownerPassword } from '../../support/owner.ts'
import { bridgeOf, Ear } from '../../support/sdk-listener.ts'

const chain = await certificateChain()
const folder = mkdtempSync(join(tmpdir(), 'bridge-tls-'))
const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
const write = ({ cert, key }: { cert: string; key: string }) => {
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key, { mode: 0o600 })
}
const usual = await chain.server()
let bridge: TestBridge
let url: string

trustAlso(() => chain.root.cert)
beforeAll(async () => {
  write(usual)
  bridge = await startBridge({ settings: { tls_cert: files.cert, tls_key: files.key } })
  url = `https://localhost:${bridge.server.port}`
})
afterAll(async () => {
  await bridge.close()
  rmSync(folder, { recursive: true })
})

test('agents talk over TLS by every transport', async () => {
  expect(bridge.url).toBe(`https://127.0.0.1:${bridge.server.port}`)
  for (const transport of ['socket', 'sse', 'long-poll'] as const) {
    const client = bridgeOf(bridge.ben, { transports: [transport] })
    const ear = new Ear(client)
    await bridge.owner.message(bridge.project.id, bridge.ben.id, `over ${transport}`)
    await ear.heard(`over ${transport}`)
    expect(ear.transports).toEqual([transport])
    await ear.messages.at(-1)?.acknowledge()
    await ear.stop()
    await client.close()
  }
})

test('its origin is https, and the cookie is Secure and for that host only', async () => {
  const { portal_origin } = (await exchange(bridge.url, { method: 'GET', target: '/api/health' })).json as {
    portal_origin: string
  }
  expect(portal_origin).toBe(bridge.url)
  const signIn = (origin: string) =>
    exchange(bridge.url, {
      method: 'POST',
      target: '/api/admin/session',
      headers: [
        ['Origin', origin],
        ['Content-Type', 'application/json'],
      ],
      body: JSON.stringify({ name: ownerName, password: ownerPassword }),
    })
  expect((await signIn(bridge.url)).headers['set-cookie']).toEqual([
    expect.stringMatching(/^__Host-bridge_owner=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/),
  ])
  expect((await signIn(bridge.url.replace('https', 'http'))).status).toBe(403)
})

test('the node closes a plain HTTP connection and continues to work', async () => {
  const plain = bridge.url.replace('https', 'http')
  await expect(exchange(plain, { method: 'GET', target: '/api/health' })).rejects.toThrow()
  await expect.poll(async () => (await nodeStatus({ baseUrl: url })).readiness.ready).toBe(true)
})

describe('a client refuses', () => {
  const past = { from: new Date('2020-01-01'), until: new Date('2020-02-01') }
  const future = { from: new Date('2096-01-01'), until: new Date('2097-01-01') }
  const cases: [string, () => ReturnType<typeof chain.server>, RegExp, RegExp][] = [
    ['an expired one', () => chain.server(past), /has expired \(CERT_HAS_EXPIRED\)/, /clock right\?/],
    ['one that is not valid yet', () => chain.server(future), /not valid yet/, /clock right\?/],
    [
      'one of another name',
      () => chain.server({ hosts: ['elsewhere.test'] }),
      /is for another name than that of the address/,
      /use the name/,
    ],
    [
      'a self-signed one',
      () => issue({ name: 'alone', hosts: ['localhost', '127.0.0.1'] }),
      /self-signed/,
      /NODE_EXTRA_CA_CERTS names/,
    ],
    [
      'one of an authority that only has the same name',
      async () => (await impostorOf(chain)).server(),
      /not signed by the authority that it names/,
      /NODE_EXTRA_CA_CERTS names/,
    ],
    [
      'one of an unknown authority',
      async () => (await certificateChain('other')).server(),
      /this machine does not trust/,
      /NODE_EXTRA_CA_CERTS names/,
    ],
    [
      'one without its intermediate',
      async () => {
        const { cert, key } = await chain.server()
        return { cert: cert.split(/(?<=END CERTIFICATE-----\n)/)[0] ?? '', key }
      },
      /came without its intermediate/,
      /NODE_EXTRA_CA_CERTS names/,
    ],
  ]
  let desk: Desk
  beforeAll(async () => {
    desk = await Desk.make()
  })
  afterAll(async () => {
    await desk.remove()
    write(usual)
    bridge.server.reloadCertificate()
  })

  test.each(cases)('%s, with the reason', async (_name, certificate, message, hint) => {
    write(await certificate())
    bridge.server.reloadCertificate()
    const failed = await nodeStatus({ baseUrl: url }).then(
      () => undefined,
      (error: LocalError) => error,
    )
    expect(failed).toMatchObject({ code: 'certificate_refused', message: expect.stringMatching(message) })
    const { code, stderr } = await desk.run(['server', 'status', '--url', url])
    expect([code, stderr]).toEqual([9, expect.stringMatching(message)])
    expect(stderr).toMatch(new RegExp(`\nhint: .*${hint.source}`))
  })
})

test('the doctor command of its host checks the certificate given by flags', async () => {
  const desk = await Desk.make()
  const soon = new Date(Date.now() + 3.5 * 86_400_000)
  write(await chain.server({ until: soon }))
  const examined = async (...flags: string[]) => {
    const found = ['server', 'doctor', '--json', '--data', bridge.data, ...flags]
    const { code, stdout, stderr } = await desk.run(found)
    const { findings } = JSON.parse(stdout) as { findings: { check: string; state: string; text: string }[] }
    const told = (check: string) => findings.find((each) => each.check === check)
    return { code, stderr, tls: told('tls'), origin: told('origin') }
  }
  expect(await examined()).toMatchObject({
    code: 0,
    stderr: '',
    tls: { state: 'warning', text: `${files.cert} is valid for 3 more days` },
    origin: { state: 'ok' },
  })
  // Flags given to the command describe the next start.
  expect((await examined('--host', '127.0.0.1')).tls).toBeUndefined()
  rmSync(files.cert)
  expect(await examined()).toMatchObject({ code: 2, tls: { state: 'problem' } })
  write(usual)
  await desk.remove()
})

describe('a renewed certificate', () => {
  const served = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: bridge.server.port, servername: 'localhost' }, () => {
        resolve(socket.getPeerCertificate().serialNumber)
        socket.destroy()
      })
      socket.once('error', reject)
    })

  test('is used for later connections, and an unusable one changes nothing', async () => {
    const before = await served()
    write(await chain.server())
    expect(await served()).toBe(before)
    bridge.server.reloadCertificate()
    const renewed = await served()
    expect(renewed).not.toBe(before)

    writeFileSync(files.key, (await chain.server()).key)
    bridge.server.reloadCertificate()
    rmSync(files.cert)
    bridge.server.reloadCertificate()
    expect(await served()).toBe(renewed)
    write(usual)
    bridge.server.reloadCertificate()
    expect(await served()).toBe(before)
  })
})

const other = await chain.server()

describe('an unusable certificate or key stops the start:', () => {
  const cases: [string, () => void, RegExp][] = [
    ['a missing certificate', () => rmSync(files.cert), /^tls_cert \S+cert\.pem cannot be read \(ENOENT\)$/],
    ['where there is no key', () => rmSync(files.key), /^tls_key \S+key\.pem cannot be read \(ENOENT\)$/],
    ['an invalid certificate', () => writeFileSync(files.cert, 'hello'), /does not begin with a certificate/],
    ['an invalid key', () => writeFileSync(files.key, 'hello'), /is not an unencrypted private key in PEM/],
    [
      'a key of another certificate',
      () => writeFileSync(files.key, other.key),
      /^tls_key \S+key\.pem is not the key of the first certificate in tls_cert \S+cert\.pem$/,
    ],
  ]
  test.each(cases)('%s', (_name, spoil, message) => {
    write(usual)
    expect(readCertificate(files).leaf.subject).toBe('CN=test server')
    spoil()
    expect(() => readCertificate(files)).toThrow(message)
    expect(() => readCertificate(files)).toThrow(ConfigError)
    write(usual)
  })
})
