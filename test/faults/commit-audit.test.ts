/** Where strace exists, an audit shows a sync of the log before every answer, and finds a server that does without. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { setUpOwner } from '../support/owner.ts'
import { type ProcessOptions, startServerProcess } from '../support/process.ts'
import { auditCommits, auditOptions, type CommitAudit } from './commit-audit.ts'
import { Crew, enlist } from './crew.ts'
import { attach, canTrace } from './strace.ts'

const answers = 10 * Number(process.env.BRIDGE_KILLS ?? 20)
const answersOfControl = 60

async function auditUnderLoad(answers: number, control?: ProcessOptions['control']): Promise<CommitAudit> {
  const server = await startServerProcess()
  const { folder } = server
  let crew: Crew | undefined
  try {
    const owner = await setUpOwner(server.url, server.setupLink)
    const specs = await enlist(owner, { count: 8, folder, seed: 1 })
    await server.kill('SIGTERM')
    await server.start(control && { control })
    const tracer = await attach(server.pid, [...auditOptions, '-o', join(folder, 'trace')])
    crew = new Crew(server.url, specs)
    await crew.answers(answers)
    await tracer.detach()
    return auditCommits(readFileSync(join(folder, `trace.${server.pid}`), 'latin1'))
  } finally {
    await crew?.close()
    await server.close()
  }
}

test.skipIf(!canTrace)('the log is synced before every answer', { timeout: 120_000 }, async () => {
  const audit = await auditUnderLoad(answers)
  expect(audit.wrong).toEqual([])
  expect(audit.answers).toBeGreaterThanOrEqual(answers)
  expect(audit.messages).toBeGreaterThan(answers / 5)
  expect(audit.syncs).toBeGreaterThan(0)
})

test.skipIf(!canTrace).each(['no-sync', 'answers-before-commit'] as const)(
  'the audit finds a server with the fault "%s"',
  { timeout: 120_000 },
  async (control) => {
    const audit = await auditUnderLoad(answersOfControl, control)
    expect(audit.wrong.length).toBeGreaterThan(audit.answers / 2)
  },
)

const id = '01a1fbff-6265-7000-a55e-bc1ae3f4cb7d'
const steps = {
  request: 'read(30<socket:[9]>, "POST /api/v1/messages HTTP/1.1\\r\\nHost: x", 65536) = 400',
  page: `pwrite64(21</d/bridge.db-wal>, "\\0\\0${id}\\7", 4096, 56) = 4096`,
  sync: 'fsync(21</d/bridge.db-wal>) = 0',
  otherSync: 'fdatasync(20</d/bridge.db>) = 0',
  failedSync: 'fdatasync(21</d/bridge.db-wal>) = -1 EIO (Input/output error)',
  answer: `write(30<socket:[9]>, "HTTP/1.1 200 OK\\r\\n\\r\\n{\\"message\\":{\\"id\\":\\"${id}\\",", 900) = 900`,
}

test.each<{ what: string; order: (keyof typeof steps)[]; wrong: number }>([
  { what: 'page, sync, answer', order: ['request', 'page', 'sync', 'answer'], wrong: 0 },
  { what: 'an answer before the page', order: ['request', 'answer', 'page', 'sync'], wrong: 2 },
  { what: 'an answer before the sync', order: ['request', 'page', 'answer', 'sync'], wrong: 3 },
  { what: 'a sync before the page', order: ['request', 'sync', 'page', 'answer'], wrong: 2 },
  { what: 'a sync of another file', order: ['request', 'page', 'otherSync', 'answer'], wrong: 3 },
  { what: 'a sync that failed', order: ['request', 'page', 'failedSync', 'answer'], wrong: 3 },
])('the audit judges $what', ({ order, wrong }) => {
  expect(auditCommits(order.map((step) => steps[step]).join('\n')).wrong).toHaveLength(wrong)
})
