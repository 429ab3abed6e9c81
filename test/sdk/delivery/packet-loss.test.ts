/**
 * A network that drops real packets: a network namespace whose loopback loses a percentage of them. No
 * message is lost.
 *
 * `BRIDGE_PACKET_LOSS=20` runs it with twenty per cent; it needs root, `unshare`, `ip` and `nft`, and takes
 * one to two minutes. Without it `loss.test.ts` shows the same with a proxy.
 */
import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { LossReport } from './packet-loss-process.ts'

const percent = Number(process.env.BRIDGE_PACKET_LOSS ?? 0)
const count = 40
const program = fileURLToPath(new URL('./packet-loss-process.ts', import.meta.url))

const probe = 'ip link set lo up && nft add table inet probe'
const isPossible = percent > 0 && spawnSync('unshare', ['-n', 'sh', '-c', probe]).status === 0
const why = percent > 0 ? ' (skipped: unshare, ip or nft is missing or not allowed)' : ''

test.skipIf(!isPossible)(
  `with ${percent || 'some'} per cent of packets dropped each listener receives all its messages${isPossible ? '' : why}`,
  async () => {
    const { stdout } = await promisify(execFile)('unshare', [
      '-n',
      process.execPath,
      program,
      String(percent),
      String(count),
    ])
    const { heard, dropped, passed } = JSON.parse(stdout) as LossReport
    const all = Array.from({ length: count }, (_, index) => `text ${index}`).sort()
    for (const { texts, twice, transport } of heard) {
      expect([...texts].sort(), transport).toEqual(all)
      expect(twice, transport).toBe(0)
    }
    expect(heard.map(({ transport }) => transport).sort()).toEqual(['long-poll', 'socket', 'sse'])
    // The network did drop the intended share.
    expect(dropped / (dropped + passed)).toBeGreaterThan((0.7 * percent) / 100)
    process.stdout.write(`${dropped} of ${dropped + passed} packets were dropped\n`)
  },
  400_000,
)
