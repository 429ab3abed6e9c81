/**
 * A direct transfer whose sender, or a proxy in between, violates the protocol. None of its data ever gets
 * the name of the file, the token goes nowhere else, and an existing file stays. The connections use real TLS
 * on loopback.
 *
 * Spec §4.5, §5 "Transfer helper"; contract §9.
 */
import { execFileSync } from 'node:child_process'
import { lstatSync } from 'node:fs'
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Bridge, Transfer } from '../../sdk/index.ts'
import { eachAttack } from '../support/attacks.ts'
import { trustOnly } from '../support/authorities.ts'
import { boxesIn, visible } from '../support/boxes.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { bridgeOf } from '../support/bridges.ts'
import { describeBytes, fileOf } from '../support/files.ts'
import {
  bytes,
  closeDoors,
  door,
  type HostileHome,
  home,
  hostileHomes,
  part1,
  partOf,
  partSize,
  trusted,
} from './homes.ts'

let node: TestBridge
let ada: Bridge
let ben: Bridge
let folder: string
const token = 'T'.repeat(43)

// Applies to this process only, which is the recipient's.
trustOnly(trusted.root.cert)
beforeAll(async () => {
  node = await startBridge()
  ada = bridgeOf(node, node.ada)
  ben = bridgeOf(node, node.ben)
  folder = await mkdtemp(join(tmpdir(), 'bridge-hostile-'))
})

afterEach(closeDoors)

afterAll(async () => {
  await ada.close()
  await ben.close()
  await node.close()
  await rm(folder, { recursive: true, force: true })
})

async function offered(fields: object = {}): Promise<Transfer> {
  const address = await ada.directory.address('ben')
  const described = describeBytes(bytes, partSize)
  const input = { ...address, filename: 'report.pdf', ...described, encryption: 'none', ...fields } as const
  return ada.transfers.offer({ ...input, mode: 'direct' })
}

const deposit = (id: string, endpoint: string) =>
  ada.transfers.deposit(id, {
    endpoint,
    token,
    expires_at: new Date(node.clock().getTime() + 600_000).toISOString(),
    helper_mode: 'download',
  })

const box = boxesIn(() => folder)

const receipts = async (id: string): Promise<string[]> => {
  const { audit } = await node.owner.ok<{ audit: { kind: string }[] }>({
    target: `/api/admin/projects/${node.project.id}/audit?subject_id=${id}&limit=100`,
  })
  return audit.map(({ kind }) => kind).filter((kind) => /receipt|verified/.test(kind))
}

test('a file arrives through a tunnel with a valid certificate', async () => {
  const { id } = await offered()
  const { endpoint, asked } = await door(home())
  await deposit(id, endpoint)
  const into = await box()
  const { transfer } = await ben.transfers.receive(id, join(into, 'report.pdf'))
  expect(transfer.state).toBe('verified')
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
  expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${token}`]))
})

eachAttack<HostileHome>(
  4,
  hostileHomes,
  (what, code) => `a home that ${what} ends in ${code}, and nothing has the name`,
  async (_, code, open, told) => {
    const { id } = await offered()
    const elsewhere = await door(home(), null)
    const { endpoint, asked } = await open(elsewhere.endpoint)
    await deposit(id, endpoint)
    const into = await box()
    const refused = await ben.transfers
      .receive(id, join(into, 'report.pdf'), { allowPlainHttp: true })
      .catch((error: Error & { code?: string }) => error)
    expect(refused).toMatchObject({ code })
    expect(`${(refused as Error).stack}`).not.toContain(token)
    expect(await visible(into)).toEqual([])
    expect(await ada.transfers.get(id)).toMatchObject({ state: 'accepted', receipt: null })
    expect(await receipts(id)).toEqual(told === undefined ? [] : ['transfer.receipt_refused'])
    if (code === 'certificate_refused') expect(asked).toEqual([])
    expect(elsewhere.asked).toEqual([])
  },
)

test('after a tunnel cuts a part off, the recipient uses the next one, even with the same token, and keeps its parts', async () => {
  const { id } = await offered()
  const next = await door(home())
  const cutting = await door(
    home((url, _, response) => {
      if (url !== part1) return false
      response.writeHead(200, { 'content-length': partSize }).write(partOf(url).subarray(0, 5000))
      void deposit(id, next.endpoint).then(() => response.destroy())
      return true
    }),
  )
  await deposit(id, cutting.endpoint)
  const to = join(await box(), 'report.pdf')
  await ben.transfers.receive(id, to)
  expect((await readFile(to)).equals(bytes)).toBe(true)
  expect(next.asked.map(({ path }) => path)).toEqual(['/v1/status', part1, '/v1/parts/2'])
})

test('the recipient waits for a silent tunnel until its caller gives up', async () => {
  const { id } = await offered()
  const giveUp = new AbortController()
  const { endpoint } = await door(() => giveUp.abort())
  await deposit(id, endpoint)
  const into = await box()
  const waiting = ben.transfers.receive(id, join(into, 'report.pdf'), { signal: giveUp.signal })
  await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
  expect(await visible(into)).toEqual([])
})

describe('plain http', () => {
  test('is used and reported if it is allowed', async () => {
    const { id } = await offered()
    const { endpoint } = await door(home(), null)
    await deposit(id, endpoint)
    const to = join(await box(), 'report.pdf')
    const onPlainHttp = vi.fn()
    await expect(ben.transfers.receive(id, to, { onPlainHttp })).rejects.toMatchObject({
      code: 'insecure_url',
    })
    expect(onPlainHttp).not.toHaveBeenCalled()
    await ben.transfers.receive(id, to, { onPlainHttp, allowPlainHttp: true })
    expect(onPlainHttp).toHaveBeenCalledOnce()
  })

  test.each(['http://203.0.113.7:80', 'http://tunnel.example', 'http://[2001:db8::1]', 'ftp://127.0.0.1'])(
    'is not used to %s, whatever is allowed and whatever the node reports',
    async (endpoint) => {
      const { id } = await offered()
      const expires_at = new Date(node.clock().getTime() + 600_000).toISOString()
      vi.spyOn(ben.transfers, 'secret').mockResolvedValue({
        endpoint,
        token,
        expires_at,
        helper_mode: 'download',
      })
      const to = join(await box(), 'report.pdf')
      const given = ben.transfers.receive(id, to, { allowPlainHttp: true })
      await expect(given).rejects.toMatchObject({ code: 'insecure_url' })
    },
  )
})

describe('a destination', () => {
  /** Serves the file correctly; calls `before` when the second part is requested. */
  async function served(before: () => Promise<unknown> = async () => {}): Promise<string> {
    const { id } = await offered()
    const { endpoint } = await door(
      home((url, _, response) => {
        if (url !== part1) return false
        response.setHeader('content-length', partSize)
        void before().then(() => response.end(partOf(url)))
        return true
      }),
    )
    await deposit(id, endpoint)
    return id
  }

  test('that appears during the download stays unchanged; with --overwrite nothing more is fetched', async () => {
    const to = join(await box(), 'report.pdf')
    const id = await served(() => writeFile(to, 'mine'))
    await expect(ben.transfers.receive(id, to)).rejects.toMatchObject({ code: 'destination_exists' })
    expect(await readFile(to, 'utf8')).toBe('mine')
    expect(await ada.transfers.get(id)).toMatchObject({ state: 'accepted', receipt: null })
    const fetched = vi.fn()
    await ben.transfers.receive(id, to, { overwrite: true, onProgress: ({ parts }) => fetched(parts) })
    expect((await readFile(to)).equals(bytes)).toBe(true)
    expect(fetched.mock.calls.every(([parts]) => parts === 3)).toBe(true)
  })

  test.each<[string, (to: string, other: string) => Promise<unknown>]>([
    ['a file', (to) => writeFile(to, 'mine')],
    ['a file of the same length', (to) => writeFile(to, fileOf(30_000, 5))],
    ['a folder', (to) => mkdir(to)],
    ['a link to a file', (to, other) => symlink(other, to)],
    ['a link to nothing', (to) => symlink('nowhere', to)],
    ['a link to itself', (to) => symlink('report.pdf', to)],
    ['a pipe without a writer', async (to) => execFileSync('mkfifo', [to])],
    ['a device', (to) => symlink('/dev/zero', to)],
  ])('that is %s is neither overwritten nor written through', async (_, make) => {
    const into = await box()
    const [to, other] = [join(into, 'report.pdf'), join(into, 'other')]
    await writeFile(other, 'theirs')
    await make(to, other)
    const before = lstatSync(to, { bigint: true })
    const id = await served()
    const refused = await ben.transfers.receive(id, to).catch((error: { code?: string }) => error)
    expect(['destination_exists', 'storage_failed']).toContain((refused as { code?: string }).code)
    const after = lstatSync(to, { bigint: true })
    expect([after.ino, after.mode, after.size]).toEqual([before.ino, before.mode, before.size])
    expect(await visible(into)).toEqual(['other', 'report.pdf'])
    expect(await readFile(other, 'utf8')).toBe('theirs')
  })

  const stagingIn = (into: string, id: string) => join(into, `.bridge-receive..${id}`)

  test('is not used if another user made the temporary folder beside it', async () => {
    const into = await box()
    const elsewhere = await box()
    await writeFile(join(elsewhere, 'kept'), 'theirs')
    await link(join(elsewhere, 'kept'), join(elsewhere, 'file'))
    const linked = await served()
    await symlink(elsewhere, stagingIn(into, linked))
    const open = await served()
    await mkdir(stagingIn(into, open))
    await chmod(stagingIn(into, open), 0o777)
    for (const id of [linked, open]) {
      const given = ben.transfers.receive(id, join(into, 'report.pdf'))
      await expect(given).rejects.toMatchObject({ code: 'storage_failed' })
      expect(await visible(into)).toEqual([])
    }
    expect(await readdir(elsewhere)).toEqual(['file', 'kept'])
  })

  test('never gets another file if the folder beside it is exchanged during the download', async () => {
    const into = await box()
    const to = join(into, 'report.pdf')
    const id: string = await served(async () => {
      await rename(stagingIn(into, id), join(into, '.aside'))
      await mkdir(stagingIn(into, id), { mode: 0o700 })
      await writeFile(join(stagingIn(into, id), 'file'), fileOf(30_000, 66))
    })
    await ben.transfers.receive(id, to)
    expect((await readFile(to)).equals(bytes)).toBe(true)
  })

  test('that is a link is replaced by --overwrite, and its target stays', async () => {
    const into = await box()
    const [to, other] = [join(into, 'report.pdf'), join(into, 'other')]
    await writeFile(other, 'theirs')
    await symlink(other, to)
    await ben.transfers.receive(await served(), to, { overwrite: true })
    expect(lstatSync(to).isFile()).toBe(true)
    expect((await readFile(to)).equals(bytes)).toBe(true)
    expect(await readFile(other, 'utf8')).toBe('theirs')
  })
})
