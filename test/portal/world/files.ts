/** The transfers of the world, one for each state and step. */
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import type { TestAgent } from '../../support/agent.ts'
import type { TestBridge } from '../../support/bridge.ts'
import { fileOf, finalize, offer, putPart } from '../../support/files.ts'
import type { People } from './people.ts'

const names = {
  offered: 'Quartalsbericht_2026_Endfassung_mit_allen_Anlagen_und_Korrekturen_der_Redaktion_v17_final.pdf',
  uploading: 'traces-2026-03-01.tar.gz',
  uploaded: 'schema.sql',
  verified: 'report.txt',
  declined: 'node_modules.zip',
  cancelled: 'draft.md',
  failed: 'core.dump',
  expired: 'screenshot.png',
  direct: 'model.safetensors',
} as const

export type Files = Readonly<Record<keyof typeof names, string>>

const bytes = fileOf(700_000)
const partSize = 262_144

export async function files(bridge: TestBridge, { agents }: People): Promise<Files> {
  const { ada, ben, long, arabic, thai } = agents
  const made: Partial<Record<keyof typeof names, string>> = {}
  const give = async (what: keyof typeof names, from: TestAgent, to: TestAgent, fields: object = {}) => {
    bridge.clock.advance(19)
    const transfer = await offer({ from, to, bytes, partSize, fields: { filename: names[what], ...fields } })
    made[what] = transfer.id
    return transfer
  }
  const act = (by: TestAgent, { id }: Transfer, verb: string, body: object = {}) =>
    by.ok({ target: `/api/v1/transfers/${id}/${verb}`, body, key: null })
  const put = async (by: TestAgent, { id, parts }: Transfer, count = parts.length) => {
    for (const { index, offset, size } of parts.slice(0, count))
      await putPart(by, id, index, bytes.subarray(offset, offset + size))
  }

  const expired = await give('expired', ada, ben, { ttl_seconds: 60 })
  await act(ben, expired, 'accept')
  bridge.clock.advance(90)
  await ada.ok({ target: '/api/v1/transfers' })
  const verified = await give('verified', arabic, thai)
  await act(thai, verified, 'accept')
  await put(arabic, verified)
  await finalize(arabic, verified.id)
  bridge.clock.advance(9)
  await act(thai, verified, 'receipt', { size: verified.size, sha256: verified.sha256 })
  await act(thai, verified, 'cleanup')
  const declined = await give('declined', ben, ada)
  await act(ada, declined, 'decline', { reason: 'It is in the repository.' })
  await act(ada, await give('cancelled', ada, ben), 'cancel')
  const failed = await give('failed', ben, long)
  await act(long, failed, 'accept')
  await act(long, failed, 'fail', { reason: 'The disk of the machine is full.' })
  const uploaded = await give('uploaded', ada, ben)
  await act(ben, uploaded, 'accept')
  await put(ada, uploaded)
  await finalize(ada, uploaded.id)
  const uploading = await give('uploading', ada, ben)
  await act(ben, uploading, 'accept')
  await put(ada, uploading, 1)
  const direct = await give('direct', ben, ada, { mode: 'direct', encryption: 'age' })
  await act(ada, direct, 'accept')
  await give('offered', long, ben)
  return made as Files
}
