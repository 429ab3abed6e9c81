/**
 * A client in another language, written from docs/protocol.md, against a real server.
 *
 * `story.py` is both agents and their owner. It says what happened, a line a step; this test holds each step to the page, and
 * ends a stream and restarts the server where the story is about that.
 */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { limits } from '../../sdk/contract/limits.ts'
import { readConfig } from '../../server/config.ts'
import { issueOwnerLink } from '../../server/host/init.ts'
import { startBridge } from '../support/bridge.ts'

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

test.skipIf(!isThere)('another implementation makes the examples of the page, byte for byte', async () => {
  const page = join(here, '../../docs/protocol.md')
  const { stdout } = await promisify(execFile)(python, ['-B', join(here, 'examples.py'), page])
  expect(stdout).toBe('')
})

type Step = Readonly<Record<string, unknown>>

/** Every step of the story, by its name; `asked` is done when the story asks for it. */
async function story(url: string, token: string, asked: (what: string) => Promise<void>): Promise<Step> {
  const folder = await mkdtemp(join(tmpdir(), 'foreign-'))
  const child = spawn(python, ['-B', join(here, 'story.py'), url, folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.write(`${token}\n`)
  const steps: Record<string, unknown> = {}
  try {
    for await (const line of createInterface(child.stdout)) {
      const { step, ask, ...said } = JSON.parse(line) as { step?: string; ask?: string }
      if (step !== undefined) steps[step] = said
      if (ask === undefined) continue
      await asked(ask)
      child.stdin.write('done\n')
    }
    return steps
  } finally {
    child.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

test.skipIf(!isThere)('a client in Python does all that the page describes', async () => {
  let passedMs = 0
  let bridge = await startBridge({ monotonicMs: () => performance.now() + passedMs })
  const link = await issueOwnerLink(readConfig({ data: bridge.data }, {}))
  try {
    const steps = await story(bridge.url, new URL(link).hash.slice(1), async (what) => {
      if (what === 'restart') bridge = await bridge.restart()
      else passedMs += limits.streamSeconds * 1000
    })
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
        notices: ['transfer', 'transfer'],
        early: 'state_conflict',
        state: 'verified',
        same: true,
        receipt: true,
        gone: 'package_removed',
        cleanup: [true, true],
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
  } finally {
    await bridge.close()
  }
})
