/**
 * The client of the measurement: signs every request live, over connections that stay open. Product and floor
 * use the same client.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { Pool } from 'undici'
import { requestV1, sha256Hex } from '../../../sdk/signing/canonical.ts'
import type { KeyPair } from '../../../sdk/signing/keys.ts'
import { sign } from '../../../sdk/signing/proof.ts'
import type { TestAgent } from '../../support/agent.ts'

export interface Caller {
  readonly serverId: string
  readonly credentialId: string
  readonly keys: KeyPair
  readonly session: string | undefined
}

export const callerOf = ({ enrolled, keys, session }: TestAgent): Caller => ({
  serverId: enrolled.server_id,
  credentialId: enrolled.credential_id,
  keys,
  session: session?.id,
})

/** The server that receives complete tasks: paths differ between product and floor, requests do not. */
export interface Target {
  readonly pool: Pool
  readonly base: string
  readonly creator: Caller
  readonly worker: Caller
  readonly assignee: string
}

interface Answered {
  readonly id: string | number
  readonly claim: { readonly generation: number; readonly session_generation: number } | null
}

async function post({ pool }: Target, by: Caller, path: string, body: object): Promise<Answered> {
  const bytes = JSON.stringify(body)
  const time = String(Math.floor(Date.now() / 1000))
  const nonce = randomBytes(16).toString('base64url')
  const idempotencyKey = randomUUID()
  const { serverId, credentialId, session } = by
  const text = requestV1({
    serverId,
    credentialId,
    method: 'POST',
    target: path,
    bodySha256: sha256Hex(bytes),
    time,
    nonce,
    idempotencyKey,
    ...(session !== undefined && { session }),
  })
  const answer = await pool.request({
    method: 'POST',
    path,
    headers: {
      authorization: `AgentKey ${credentialId}`,
      'content-type': 'application/json',
      'x-bridge-time': time,
      'x-bridge-nonce': nonce,
      'x-bridge-proof': sign(by.keys.privateKey, text),
      'idempotency-key': idempotencyKey,
      ...(session !== undefined && { 'x-bridge-session': session }),
    },
    body: bytes,
  })
  const told = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}: ${told}`)
  return JSON.parse(told) as Answered
}

const task = {
  title: 'Count the lines',
  instructions: 'of README.md, with wc -l; answer with the number alone',
}
const evidence = [{ kind: 'command', value: 'wc -l README.md', exit_code: 0 }]

export const createTask = (target: Target): Promise<Answered> =>
  post(target, target.creator, target.base, { ...task, assignee_agent_id: target.assignee })

async function wholeTask(target: Target): Promise<void> {
  const { base, worker } = target
  const { id } = await createTask(target)
  const { claim } = await post(target, worker, `${base}/${id}/claim`, {})
  const named = { claim_generation: claim?.generation, session_generation: claim?.session_generation }
  await post(target, worker, `${base}/${id}/complete`, { ...named, result: '90', evidence })
}

/**
 * Creates, claims and completes tasks with this many in parallel; returns their number, and the number per
 * second.
 */
export async function wholeTasks(target: Target, atOnce: number, ms: number) {
  const began = performance.now()
  let done = 0
  const worker = async () => {
    while (performance.now() - began < ms) {
      await wholeTask(target)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return { done, perSecond: done / ((performance.now() - began) / 1000) }
}

export const poolOf = (url: string): Pool => new Pool(url, { connections: 32, pipelining: 1 })
