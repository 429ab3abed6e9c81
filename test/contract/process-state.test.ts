/**
 * The set-up of test files detects the changes that a file makes to its process, and the handles that it
 * leaves open.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, test, vi } from 'vitest'
import { certificateChain } from '../support/certificates.ts'
import { changesSince, openedSince, openHandles, stateOfProcess } from '../support/process-state.ts'
import { processesOf } from '../support/remains.ts'

const { root } = await certificateChain()
const listener = () => {}

/** The name of the state, the change, and its reversal. */
const changes: readonly [state: string, change: () => () => unknown][] = [
  [
    'the trusted authorities',
    () => {
      const usual = getCACertificates('default')
      setDefaultCACertificates([root.cert])
      return () => setDefaultCACertificates(usual)
    },
  ],
  [
    'the umask',
    () => {
      const usual = process.umask(0o027)
      return () => process.umask(usual)
    },
  ],
  [
    'the variable BRIDGE_NEW',
    () => {
      process.env.BRIDGE_NEW = 'set'
      return () => delete process.env.BRIDGE_NEW
    },
  ],
  [
    'the variable BRIDGE_HOME',
    () => {
      const usual = process.env.BRIDGE_HOME
      delete process.env.BRIDGE_HOME
      return () => Object.assign(process.env, { BRIDGE_HOME: usual })
    },
  ],
  [
    'listeners of SIGUSR2',
    () => {
      process.on('SIGUSR2', listener)
      return () => process.off('SIGUSR2', listener)
    },
  ],
  [
    'the global fetch',
    () => {
      vi.stubGlobal('fetch', listener)
      return () => vi.unstubAllGlobals()
    },
  ],
  [
    'the global surprise',
    () => {
      Object.assign(globalThis, { surprise: true })
      return () => Reflect.deleteProperty(globalThis, 'surprise')
    },
  ],
  [
    'Date.now',
    () => {
      const spy = vi.spyOn(Date, 'now')
      return () => spy.mockRestore()
    },
  ],
]

test.each(changes)('the set-up detects a change of %s', (state, change) => {
  // Node loads it on first use, which is no change.
  expect(fetch).toBeTypeOf('function')
  const before = stateOfProcess()
  const restore = change()
  expect(changesSince(before)).toEqual([state])
  restore()
  expect(changesSince(before)).toEqual([])
})

test('the set-up detects an open server, timer and child', async () => {
  const before = openHandles()
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const timer = setTimeout(listener, 60_000)
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  expect(openedSince(before).toSorted()).toEqual([
    '1 PipeWrap',
    '1 ProcessWrap',
    '1 TCPServerWrap',
    '1 Timeout',
  ])
  clearTimeout(timer)
  server.close()
  child.kill('SIGKILL')
  await once(child, 'close')
  await expect.poll(() => openedSince(before)).toEqual([])
})

test.runIf(process.platform === 'linux')(
  'the set-up finds a process that left its parent by the folder that it names',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bridge-remains-'))
    const waits = 'setTimeout(() => {}, 60_000)'
    const child = spawn(process.execPath, ['-e', waits], {
      env: { HOME: folder },
      detached: true,
      stdio: 'ignore',
    })
    await expect.poll(() => processesOf(folder)).toEqual([expect.stringContaining(`process ${child.pid} `)])
    child.kill('SIGKILL')
    await once(child, 'close')
    expect(processesOf(folder)).toEqual([])
    rmSync(folder, { recursive: true })
  },
)
