/** Serving a file with exact bytes, lengths and hashes; a changed file is refused. Spec §4.5. */

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exchange, request } from './calls.ts'
import { manifestOf, Place, sha256 } from './files.ts'
import { start, startWith, type TestHelper } from './test-helper.ts'

const bytes = randomBytes(5_000_000)
/** Long enough for a busy machine. */
let helper: TestHelper
beforeEach(async () => {
  helper = await startWith(bytes, { mode: 'download', partSize: 2_000_000 })
})
afterEach(() => helper.close())

test('the helper serves the exact file, with its length and hash', async () => {
  const { status, headers, body } = await helper.ask({ target: '/v1/file' })
  expect(status).toBe(200)
  expect(headers).toMatchObject({
    'content-length': '5000000',
    'x-content-sha256': sha256(bytes),
    'content-type': 'application/octet-stream',
    'cache-control': 'no-store',
  })
  expect(body.equals(bytes)).toBe(true)
})

test.each(['My notes.txt', '.gitignore'])('a file named %j is served', async (filename) => {
  const named = await startWith(bytes, { mode: 'download', filename, partSize: 2_000_000 })
  expect((await named.ask({ target: '/v1/file' })).body.equals(bytes)).toBe(true)
  await named.close()
})

test('each part is its exact range, with its length and hash', async () => {
  for (const { index, offset, size, sha256: hash } of helper.manifest.parts) {
    const { headers, body } = await helper.ask({ target: `/v1/parts/${index}` })
    expect(headers).toMatchObject({ 'content-length': String(size), 'x-content-sha256': hash })
    expect(body.equals(bytes.subarray(offset, offset + size))).toBe(true)
  }
})

test('an empty file is served whole and as its one part', async () => {
  const empty = await startWith(Buffer.alloc(0), { mode: 'download' })
  for (const target of ['/v1/file', '/v1/parts/0']) {
    expect((await empty.ask({ target })).headers).toMatchObject({
      'content-length': '0',
      'x-content-sha256': sha256(''),
    })
  }
  await empty.close()
})

const changes: [string, (path: string) => void][] = [
  ['a byte was changed', (path) => writeFileSync(path, Buffer.concat([Buffer.from('x'), bytes.subarray(1)]))],
  ['it grew', (path) => appendFileSync(path, 'x')],
  ['it was touched', (path) => utimesSync(path, 1, 1)],
  ['its mode changed', (path) => chmodSync(path, 0o644)],
  ['it was removed', (path) => rmSync(path)],
  ['it was renamed', (path) => renameSync(path, `${path}.away`)],
  [
    'another file took its name',
    (path) => {
      writeFileSync(`${path}.new`, bytes)
      renameSync(`${path}.new`, path)
    },
  ],
  ['it got a second name', (path) => linkSync(path, `${path}.twin`)],
]

test.each(changes)(
  'once %s, the file is refused and never served under the old hash',
  async (_name, change) => {
    change(helper.place.inRoot('payload.bin'))
    for (const target of ['/v1/file', '/v1/parts/1']) {
      const answer = await helper.ask({ target })
      expect([answer.status, answer.error]).toEqual([409, 'file_changed'])
    }
  },
)

test('a change during the download cuts the answer short', async () => {
  const socket = connect(helper.port, '127.0.0.1')
  socket.write(request({ target: '/v1/file', token: helper.token, headers: ['Connection: close'] }))
  let received = 0
  await once(socket, 'readable')
  // The client has read nothing, and the connection buffers less than the file: the rest is sent after the
  // change.
  appendFileSync(helper.place.inRoot('payload.bin'), 'x')
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length
  })
  socket.on('error', () => {})
  await once(socket, 'close')
  expect(received).toBeLessThan(bytes.length)
})

const wrongSources: [string, (path: string) => void, string][] = [
  ['missing', () => {}, 'file_missing'],
  ['shorter', (path) => writeFileSync(path, 'abc'), 'file_mismatch'],
  ['of other bytes', (path) => writeFileSync(path, 'abcdefghij'), 'file_mismatch'],
  ['a link', (path) => symlinkSync('/etc/passwd', path), 'unsafe_file'],
  ['a dangling link', (path) => symlinkSync('/nonexistent', path), 'unsafe_file'],
  ['a folder', (path) => mkdirSync(path), 'unsafe_file'],
  ['a FIFO', (path) => spawnSync('mkfifo', [path]), 'unsafe_file'],
  [
    'known by two names',
    (path) => {
      writeFileSync(path, '0123456789')
      linkSync(path, `${path}.twin`)
    },
    'unsafe_file',
  ],
]

test.each(wrongSources)('a source that is %s is refused at the start', async (_name, make, code) => {
  const place = new Place()
  const content = Buffer.from('0123456789')
  make(place.inRoot('payload.bin'))
  await expect(start(place, manifestOf(content, { mode: 'download' }), content)).rejects.toMatchObject({
    code,
  })
  place.remove()
})

test('a manifest whose parts do not match the file is refused at the start', async () => {
  const place = new Place()
  const content = Buffer.from('0123456789')
  const manifest = manifestOf(content, { mode: 'download', partSize: 5 })
  writeFileSync(place.inRoot('payload.bin'), content)
  const parts = manifest.parts.map((part) => ({ ...part, sha256: sha256('other') }))
  await expect(start(place, { ...manifest, parts }, content)).rejects.toMatchObject({ code: 'file_mismatch' })
  place.remove()
})

test('one file operation runs at a time, and the next is admitted when the last bytes were sent', async () => {
  const big = await startWith(Buffer.alloc(48 * 1024 * 1024, 'x'), {
    mode: 'download',
    partSize: 8 * 1024 * 1024,
  })
  const socket = connect(big.port, '127.0.0.1')
  socket.write(request({ target: '/v1/file', token: big.token }))
  await once(socket, 'readable')
  const busy = await big.ask({ target: '/v1/parts/0' })
  expect([busy.status, busy.error]).toEqual([409, 'transfer_busy'])
  expect((await big.ask({ target: '/v1/status' })).status).toBe(200)
  socket.destroy()
  // An operation ends with its connection.
  await expect.poll(async () => (await big.ask({ target: '/v1/parts/0' })).status).toBe(200)
  for (let round = 0; round < 5; round += 1)
    expect((await big.ask({ target: '/v1/parts/1' })).status).toBe(200)
  await big.close()
})

test('a client that reads nothing is disconnected, and the next one is served', async () => {
  const big = await startWith(Buffer.alloc(48 * 1024 * 1024, 'x'), {
    mode: 'download',
    partSize: 8 * 1024 * 1024,
    pace: { progressBytes: 65536, progressMs: 50 },
  })
  const socket = connect(big.port, '127.0.0.1').pause()
  socket.on('error', () => {})
  socket.write(request({ target: '/v1/file', token: big.token }))
  await expect.poll(async () => (await big.ask({ target: '/v1/parts/0' })).status).toBe(200)
  socket.destroy()
  await big.close()
})

test('the fifth connection is closed without an answer', async () => {
  const silent = Array.from({ length: 4 }, () => connect(helper.port, '127.0.0.1').on('error', () => {}))
  await Promise.all(silent.map((socket) => once(socket, 'connect')))
  const fifth = await exchange(helper.port, request({ target: '/v1/status', token: helper.token }))
  expect(fifth.text).toBe('')
  for (const socket of silent) socket.destroy()
  await expect.poll(async () => (await helper.ask({ target: '/v1/status' })).status).toBe(200)
})
