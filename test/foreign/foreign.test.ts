/**
 * A client in another language, written from docs/protocol.md, against a real server.
 *
 * `story.py` plays both agents and their owner and prints one line per step. This test compares each step
 * with the page; on request of the script it ends a stream, restarts the server or runs the transfer helper.
 */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type RunningHelper, readOptions, startHelper } from '../../helper/main.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { issueOwnerLink } from '../../server/host/init.ts'
import { startBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'

/** Debian's own Python; `apt-get install python3-cryptography python3-websockets`. */
const python = '/usr/bin/python3'
const here = import.meta.dirname

function hasPython(): boolean {
  try {
    execFileSync(python, ['-c', 'import cryptography, websockets'], { stdio: 'ignore' })
    return true
  } catch {
    process.stdout.write(
      'skipped: the client in Python needs the Debian packages python3-cryptography and python3-websockets\n',
    )
    return false
  }
}
const isThere = hasPython()
const page = join(here, '../../docs/protocol.md')

test.skipIf(!isThere)('another implementation produces the examples of the page, byte for byte', async () => {
  const { stdout } = await promisify(execFile)(python, ['-B', join(here, 'examples.py'), page])
  expect(stdout).toBe('')
})

type Step = Readonly<Record<string, unknown>>

interface Ask {
  readonly ask: string
  readonly args?: readonly string[]
  readonly token?: string
}

/** Runs the script; returns every step by its name. `asked` answers the requests of the script. */
async function story(url: string, token: string, asked: (ask: Ask) => Promise<unknown>): Promise<Step> {
  const folder = await mkdtemp(join(tmpdir(), 'foreign-'))
  const child = spawn(python, ['-B', join(here, 'story.py'), url, folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.write(`${token}\n`)
  const steps: Record<string, unknown> = {}
  try {
    for await (const line of createInterface(child.stdout)) {
      const said = JSON.parse(line) as { step: string } | Ask
      if ('step' in said) steps[said.step] = said
      else child.stdin.write(`${JSON.stringify((await asked(said)) ?? null)}\n`)
    }
    return steps
  } finally {
    child.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

test.skipIf(!isThere)('a client in Python does everything that the page describes', async () => {
  let passedMs = 0
  let bridge = await startBridge({ monotonicMs: () => performance.now() + passedMs })
  let helper: RunningHelper | undefined
  const link = await issueOwnerLink(testConfig(bridge.data))
  const acts: Readonly<Record<string, (ask: Ask) => Promise<unknown>>> = {
    restart: async () => {
      bridge = await bridge.restart()
    },
    'let the stream end': async () => {
      passedMs += limits.streamSeconds * 1000
    },
    'start a helper': async ({ args = [], token = '' }) => {
      helper = await startHelper(readOptions(args, { SERVICE_TRANSFER_TOKEN: token }))
      return helper.readiness
    },
    'end the helper': async () => helper?.stop(),
  }
  try {
    const steps = await story(bridge.url, new URL(link).hash.slice(1), async (asked) =>
      acts[asked.ask]?.(asked),
    )
    const none = { bodies: [], same: true, attempts: [1, 1], waiting: 0, journal: 2 }
    const over = (transport: string) => ({
      ...none,
      bodies: [`one over ${transport}`, `two over ${transport}`],
    })
    expect(steps).toMatchObject({
      enrolled: { ids: true, bindings: ['key', 'key', 'device'], origin: 'owner' },
      sessions: {
        capabilities: { inbox: true, sse: true, socket: true, packages: true, direct: true },
        same_server: true,
        generations: [1, 1, 1],
        resumed: true,
        other: 'session_active',
        peers: ['bob', 'cam'],
      },
      idempotent: { same: true, replayed: [null, 'true'], conflict: 'idempotency_conflict' },
      skew: { corrections: 1, bodies: ['café ✓'], acknowledged: true, root: true, hops: 1 },
      lost: { replayed: 'true', stored: true },
      'long-poll': over('long-poll'),
      sse: over('sse'),
      socket: over('socket'),
      task: {
        found: true,
        states: ['open', 'claimed', 'completed'],
        extended: true,
        stale: 'claim_lost',
        held: 'claim_held',
        outcome: ['completed', '42', [{ kind: 'command', value: 'wc -l', exit_code: 0 }]],
      },
      cancelled: { states: ['cancel_requested', 'cancel_requested', 'cancelled'], confirmed: true },
      file: {
        uploads: [[1], [0, 2]],
        verified: true,
        notices: ['transfer'],
        early: 'state_conflict',
        state: 'verified',
        same: true,
        receipt: true,
        gone: 'package_removed',
        cleanup: [true, true],
      },
      served: {
        early: 'state_conflict',
        missing: 'not_found',
        ready: true,
        own: 'not_permitted',
        digest: true,
        fetched: [[0], [0, 1, 2]],
        mode: 'wrong_mode',
        lost: true,
        token: 'invalid_token',
        same: true,
        state: 'verified',
        gone: 'offer_expired',
      },
      taken: {
        other: 'hash_mismatch',
        again: [false, true],
        early: 'parts_missing',
        sent: [0, 2],
        verified: [false, true, true],
        same: true,
        state: 'verified',
      },
      takeover: {
        pending: 'takeover_pending',
        generations: [1, 2],
        replaced: true,
        again: true,
        listener: ['0 session_fenced', false],
        old: 'session_fenced',
        new: ['ann', 'cam'],
      },
      refusals: {
        replayed: 'request_replayed',
        tampered: 'signature_invalid',
        faults: ['invalid_request', ['body/colour']],
        unknown: 'not_found',
        upgraded: null,
        device: 'device_mismatch',
      },
      closed: { again: 'session_closed' },
    })
    const { sessions } = steps
    const named = (sessions as { limits: string[] }).limits
    const text = await readFile(page, 'utf8')
    expect(named.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
  } finally {
    await helper?.stop()
    await bridge.close()
  }
})
