/**
 * The sender's probe of the address of a served file, before the peer is notified: wrong servers and the
 * error for each. Contract §9 "Direct mode", §12.
 */
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { createServer as createPlain } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { requireWayHere } from '../../cli/transfers/direct-probe.ts'
import type { Manifest } from '../../sdk/program.ts'
import { manifestDigest } from '../../sdk/transfers/wire/manifest.ts'
import { trustOnly } from '../support/authorities.ts'
import { type Chain, certificateChain } from '../support/certificates.ts'
import { describeBytes, fileOf } from '../support/files.ts'
import { freePort } from '../support/free-port.ts'

const manifest: Manifest = {
  version: '1',
  transfer_id: '01980000-0000-7000-8000-000000000003',
  mode: 'download',
  filename: 'a.bin',
  ...describeBytes(fileOf(1000)),
}
const token = 'S'.repeat(43)
const trusted = await certificateChain()
trustOnly(trusted.root.cert)

interface Heard {
  readonly endpoint: string
  /** The received requests. */
  readonly asked: { readonly path: string; readonly authorization: string | undefined }[]
}

async function serverOf(listener: RequestListener, certificate = trusted.server()): Promise<Heard> {
  const asked: Heard['asked'] = []
  const server = createServer(await certificate, (request, response) => {
    asked.push({ path: request.url ?? '', authorization: request.headers.authorization })
    listener(request, response)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return { endpoint: `https://localhost:${(server.address() as AddressInfo).port}`, asked }
}

const statusOf = (fields: object = {}) => ({
  transfer_id: manifest.transfer_id,
  manifest_digest: manifestDigest(manifest),
  ...fields,
})
const json = (response: ServerResponse, status: number, body: object) =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const page = (response: ServerResponse, status: number) =>
  void response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>tunnel</h1>')

interface Tried {
  readonly withinMs?: number
  readonly attemptMs?: number
  readonly wasGood?: boolean
  readonly ended?: Promise<unknown>
  readonly interruption?: AbortController
}

/** Probes an endpoint; returns the notes printed in the meantime. */
async function tried(endpoint: string, options: Tried = {}): Promise<string[]> {
  const { ended = new Promise(() => {}), interruption = new AbortController(), ...probe } = options
  const notes: string[] = []
  const context = { signal: interruption.signal, output: { note: (text: string) => notes.push(text) } }
  await requireWayHere(context as never, { endpoint, token, ended }, manifest, probe)
  return notes
}

describe('an address that leads to the helper of this command is accepted', () => {
  test('if it answers a request with the token with the digest of the manifest', async () => {
    const { endpoint, asked } = await serverOf((_, response) => json(response, 200, statusOf()))
    expect(await tried(endpoint)).toEqual([])
    expect(asked).toEqual([{ path: '/v1/status', authorization: `Bearer ${token}` }])
  })

  test('even if the tunnel starts late and first shows errors and pages of its own', async () => {
    let count = 0
    const { endpoint, asked } = await serverOf((request, response) => {
      count += 1
      if (count === 1) page(response, 404)
      else if (count === 2) page(response, 502)
      else if (count === 3) request.socket.destroy()
      else json(response, 200, statusOf())
    })
    await tried(endpoint)
    expect(asked).toHaveLength(4)
  })
})

describe('a tunnel that leads elsewhere is reported immediately, and no further request is sent:', () => {
  test.each<[string, number, RegExp, RequestListener]>([
    ['a redirect', 9, /redirect/, (_, answer) => void answer.writeHead(302, { location: '/x' }).end()],
    [
      'another helper',
      9,
      /another helper answered: it does not know the token/,
      (_, answer) => json(answer, 401, { error: 'invalid_token' }),
    ],
    [
      'the helper of another transfer',
      15,
      /helper of another file/,
      (_, answer) => json(answer, 200, statusOf({ transfer_id: 'other' })),
    ],
    [
      'one without the manifest',
      15,
      /helper of another file/,
      (_, answer) => json(answer, 200, statusOf({ manifest_digest: 'a'.repeat(64) })),
    ],
  ])('%s, exit %d', async (_, code, words, listener) => {
    const { endpoint, asked } = await serverOf(listener)
    for (const wasGood of [false, true]) await expectRefused(tried(endpoint, { wasGood }), code, words)
    expect(asked).toHaveLength(2)
  })

  const expired = { from: new Date(0), until: new Date(1e9) }
  test.each<[string, RegExp, () => ReturnType<Chain['server']>]>([
    [
      'is of an untrusted authority',
      /certificate of the helper/,
      async () => (await certificateChain('nobody')).server(),
    ],
    ['is for another name', /another name/, () => trusted.server({ hosts: ['other.example'] })],
    ['is over', /has expired/, () => trusted.server(expired)],
  ])('a certificate that %s is refused before the token is sent', async (_, words, certificate) => {
    const { endpoint, asked } = await serverOf((__, response) => response.end(), certificate())
    await expectRefused(tried(endpoint), 9, words)
    expect(asked).toEqual([])
  })
})

describe('an address that never leads to our helper is reported after the time limit:', () => {
  const single = { withinMs: 0, attemptMs: 10_000 }

  test.each<[string, RegExp, RequestListener, number?]>([
    ['another server', /status 200.*is no helper|not of the protocol/, (_, answer) => page(answer, 200)],
    ['a page that nothing is there', /status 404.* is no helper/, (_, answer) => page(answer, 404)],
    ['a gateway without anything behind it', /proxy answered 502/, (_, answer) => page(answer, 502)],
    ['one that does not answer', /nothing answered in 0.1 s/, () => {}, 100],
  ])('%s, exit 9', async (_, words, listener, attemptMs = 10_000) => {
    const { endpoint } = await serverOf(listener)
    const times = { ...single, attemptMs }
    const { message } = await expectRefused(tried(endpoint, times), 9, words)
    expect(await tried(endpoint, { ...times, wasGood: true })).toEqual([
      expect.stringContaining(`${message}; it did before`),
    ])
  })

  test('an address without a listener, or without TLS', async () => {
    const nobody = `https://localhost:${await freePort()}`
    await expectRefused(tried(nobody, single), 9, /no connection to the helper/)
    const plain = createPlain((_, response) => response.end()).listen(0, '127.0.0.1')
    onTestFinished(() => {
      plain.closeAllConnections()
      plain.close()
    })
    await once(plain, 'listening')
    const endpoint = `https://localhost:${(plain.address() as AddressInfo).port}`
    await expectRefused(tried(endpoint, single), 9, /TLS/)
  })
})

test('the probe ends with its command, and with its helper, which another one follows', async () => {
  const begun = Promise.withResolvers<void>()
  const { endpoint } = await serverOf(() => begun.resolve())
  const interruption = new AbortController()
  const given = tried(endpoint, { interruption })
  await begun.promise
  interruption.abort()
  await expect(given).rejects.toMatchObject({ code: 'aborted' })
  await tried(endpoint, { ended: begun.promise })
})

/** Expects a failure with this exit code, and no token in its message. */
async function expectRefused(given: Promise<unknown>, code: number, words: RegExp) {
  const { exitCodes } = await import('../../cli/exit-codes.ts')
  const failure = await given.then(
    () => undefined,
    (error: unknown) => error as { exit: keyof typeof exitCodes; message: string; hint: string },
  )
  expect(failure?.message).toMatch(words)
  expect(failure?.message).toMatch(/^the tunnel does not lead to this command: /)
  expect([failure && exitCodes[failure.exit], failure?.hint]).toEqual([code, expect.any(String)])
  expect(`${failure?.message} ${failure?.hint}`).not.toContain(token)
  return { message: failure?.message ?? '' }
}
