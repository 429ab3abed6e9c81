/**
 * Tests of the audit itself: its verdicts on correct and faulty traces. For the traces of a server see
 * `power-cut.test.ts`.
 */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { auditCommits } from './lab/commit-audit.ts'

const id = '01a1fbff-6265-7000-a55e-bc1ae3f4cb7d'
const nonce = 'n'.repeat(22)
/** The format of strace's quotes: here every byte has the shortest form. */
const spent = [...createHash('sha256').update(nonce).digest().subarray(0, 16)]
  .map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
  .join('')
const steps = {
  request: `7 read(30<socket:[9]>, "POST /api/v1/messages HTTP/1.1\\r\\nX-Bridge-Nonce: ${nonce}\\r\\n", 65536) = 400`,
  page: `7 pwrite64(21</d/bridge.db-wal>, "\\0\\0x${id}\\7${spent}", 4096, 56) = 4096`,
  nonceAlone: `7 pwrite64(21</d/bridge.db-wal>, "\\0\\0${spent}", 4096, 56) = 4096`,
  sync: '7 fsync(21</d/bridge.db-wal>) = 0',
  syncBegins: '8 fdatasync(22</d/bridge.db-wal> <unfinished ...>',
  syncEnds: '8 <... fdatasync resumed>) = 0',
  syncFails: '8 <... fdatasync resumed>) = -1 EIO (Input/output error)',
  otherSync: '7 fdatasync(20</d/bridge.db>) = 0',
  failedSync: '7 fdatasync(21</d/bridge.db-wal>) = -1 EIO (Input/output error)',
  answer: `7 write(30<socket:[9]>, "HTTP/1.1 200 OK\\r\\n\\r\\n{\\"message\\":{\\"id\\":\\"${id}\\",", 900) = 900`,
}

test.each<{ what: string; order: (keyof typeof steps)[]; wrong: number }>([
  { what: 'page, sync, answer', order: ['request', 'page', 'sync', 'answer'], wrong: 0 },
  {
    what: 'a sync of another thread',
    order: ['request', 'page', 'syncBegins', 'syncEnds', 'answer'],
    wrong: 0,
  },
  { what: 'a page of the next group', order: ['request', 'page', 'sync', 'nonceAlone', 'answer'], wrong: 0 },
  { what: 'an answer before the page', order: ['request', 'answer', 'page', 'sync'], wrong: 2 },
  { what: 'an answer before the sync', order: ['request', 'page', 'answer', 'sync'], wrong: 2 },
  {
    what: 'an answer during a sync',
    order: ['request', 'page', 'syncBegins', 'answer', 'syncEnds'],
    wrong: 2,
  },
  {
    what: 'a sync that began before the page',
    order: ['request', 'syncBegins', 'page', 'syncEnds', 'answer'],
    wrong: 2,
  },
  { what: 'a message after its nonce', order: ['request', 'nonceAlone', 'sync', 'page', 'answer'], wrong: 1 },
  { what: 'a sync before the page', order: ['request', 'sync', 'page', 'answer'], wrong: 2 },
  { what: 'a sync of another file', order: ['request', 'page', 'otherSync', 'answer'], wrong: 2 },
  { what: 'a sync that failed', order: ['request', 'page', 'failedSync', 'answer'], wrong: 2 },
  {
    what: 'a sync that failed on another thread',
    order: ['request', 'page', 'syncBegins', 'syncFails', 'answer'],
    wrong: 2,
  },
])('the audit judges $what correctly', ({ order, wrong }) => {
  expect(auditCommits(order.map((step) => steps[step])).wrong).toHaveLength(wrong)
})
