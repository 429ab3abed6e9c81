/** Enrolment: a single-use code becomes an agent's identity exactly once. Contract §4. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { enrollV1, sha256Hex } from '../../sdk/signing/canonical.ts'
import { generateKeyPair, type KeyPair } from '../../sdk/signing/keys.ts'
import { sign } from '../../sdk/signing/proof.ts'
import { claimBody, type Enrolled, TestAgent } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { exchange, type Reply } from '../support/http.ts'
import { codeOf } from '../support/owner.ts'
import { isOnPostgres } from '../support/postgres.ts'
import { openStore, storedBytes } from '../support/test-store.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

interface Issued {
  readonly enrollment_id: string
  readonly prompt: string
  readonly expires_at: string
}

interface Invited {
  readonly agentId: string
  readonly code: string
  readonly enrollmentId: string
}

let agents = 0

async function invite(fields: object = {}, agentId?: string): Promise<Invited> {
  const { owner, project } = bridge
  const id = agentId ?? (await owner.createAgent(project.id, `agent ${agents++}`)).id
  const target = `/api/admin/projects/${project.id}/agents/${id}/enrollment`
  const issued = await owner.ok<Issued>({ target, body: fields })
  return { agentId: id, code: codeOf(issued.prompt), enrollmentId: issued.enrollment_id }
}

function claim(body: object, device?: string): Promise<Reply> {
  const headers: [string, string][] = [['Content-Type', 'application/json']]
  if (device !== undefined) headers.push(['X-Bridge-Device', device])
  const target = '/api/v1/enrollments/claim'
  return exchange(bridge.url, { method: 'POST', target, headers, body: JSON.stringify(body) })
}

const errorOf = (reply: Reply) => (reply.json as { error?: string }).error
const refusal = (reply: Reply) => [reply.status, errorOf(reply)]

const stateOf = async ({ agentId, enrollmentId }: Invited) => {
  const target = `/api/admin/projects/${bridge.project.id}/agents/${agentId}/enrollments/${enrollmentId}`
  return (await bridge.owner.ok<{ state: string }>({ target })).state
}

function rows<T>(sql: string, ...parameters: unknown[]): T[] {
  const database = openStore(bridge.data)
  try {
    return database.prepare<T>(sql).all(...parameters)
  } finally {
    database.close()
  }
}

const credentialsOf = (agentId: string) =>
  rows<{ id: string; revoked_at: string | null }>(
    'SELECT id, revoked_at FROM credentials WHERE agent_id = ?',
    agentId,
  )

const auditOf = (kind: string, { enrollmentId }: Invited) =>
  rows('SELECT * FROM audit WHERE kind = ? AND subject_id = ?', kind, enrollmentId)

const agentOf = (reply: Reply, keys: KeyPair) =>
  new TestAgent(bridge.url, keys, reply.json as Enrolled, bridge.clock)

describe('claiming', () => {
  test('a code and a key become an identity that the owner sees', async () => {
    const invited = await invite()
    expect(await stateOf(invited)).toBe('pending')
    const keys = generateKeyPair()
    const reply = await claim(claimBody(invited.code, keys))
    expect(reply.json).toMatchObject({
      server_id: bridge.server.serverId,
      agent: { id: invited.agentId },
      project: { id: bridge.project.id, state: 'active' },
      binding: 'key',
      scopes: ['messages', 'tasks', 'transfers'],
    })
    expect(await stateOf(invited)).toBe('claimed')
    await agentOf(reply, keys).startSession()
  })

  test('of fifty keys that claim one code simultaneously one becomes the identity, and the other attempts are recorded', async () => {
    const invited = await invite()
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => claim(claimBody(invited.code, generateKeyPair()))),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    const refused = replies.filter(({ status }) => status !== 200)
    expect(new Set(refused.map((reply) => refusal(reply).join(' ')))).toEqual(
      new Set(['410 enrollment_used']),
    )
    expect(credentialsOf(invited.agentId)).toHaveLength(1)
    expect(auditOf('enrollment.claimed', invited)).toHaveLength(1)
    expect(auditOf('enrollment.reused', invited)).toHaveLength(1)
  })

  test('fifty simultaneous claims with one key get one answer, and so does a later claim with that key', async () => {
    const invited = await invite()
    const body = claimBody(invited.code, generateKeyPair())
    const replies = await Promise.all(Array.from({ length: 50 }, () => claim(body)))
    const identity = ({ json }: Reply) => ({ ...(json as Enrolled), server_time: '' })
    for (const reply of [...replies, await claim(body)])
      expect(identity(reply)).toEqual(identity(replies[0] ?? reply))
    expect(credentialsOf(invited.agentId)).toHaveLength(1)
    expect(auditOf('enrollment.reused', invited)).toEqual([])
  })

  test('the store does not contain the code', async () => {
    const { code, enrollmentId } = await invite()
    const files = readdirSync(bridge.data).filter((name) => name.startsWith('bridge.db'))
    if (!isOnPostgres) expect(files).toContain('bridge.db-wal')
    for (const name of files) expect(readFileSync(join(bridge.data, name)).includes(code), name).toBe(false)
    const bytes = storedBytes(bridge.data)
    expect(bytes.includes(enrollmentId)).toBe(true)
    expect(bytes.includes(code)).toBe(false)
  })
})

describe('a code is refused', () => {
  test('after its expiry, also for the key that claimed it', async () => {
    const [late, repeated] = [await invite({ ttl_seconds: 60 }), await invite({ ttl_seconds: 60 })]
    const body = claimBody(repeated.code, generateKeyPair())
    expect((await claim(body)).status).toBe(200)
    bridge.clock.advance(60)
    expect(refusal(await claim(claimBody(late.code, generateKeyPair())))).toEqual([410, 'enrollment_expired'])
    expect(await stateOf(late)).toBe('expired')
    await invite({}, late.agentId)
    expect(await stateOf(late)).toBe('expired')
    expect(refusal(await claim(body))).toEqual([410, 'enrollment_expired'])
    expect(credentialsOf(late.agentId)).toEqual([])
  })

  test('after a newer enrolment of the agent was issued', async () => {
    const earlier = await invite()
    const later = await invite({}, earlier.agentId)
    expect(await stateOf(earlier)).toBe('revoked')
    expect(refusal(await claim(claimBody(earlier.code, generateKeyPair())))).toEqual([
      410,
      'enrollment_revoked',
    ])
    expect((await claim(claimBody(later.code, generateKeyPair()))).status).toBe(200)
  })

  test('if it was never issued', async () => {
    const made = randomBytes(18).toString('base64url')
    expect(refusal(await claim(claimBody(made, generateKeyPair())))).toEqual([401, 'unauthenticated'])
  })

  test('if the agent is disabled or the project is archived', async () => {
    const { owner } = bridge
    const invited = await invite()
    const agent = `/api/admin/projects/${bridge.project.id}/agents/${invited.agentId}/state`
    await owner.ok({ target: agent, body: { state: 'disabled' } })
    expect(refusal(await claim(claimBody(invited.code, generateKeyPair())))).toEqual([403, 'agent_disabled'])
    await owner.ok({ target: agent, body: { state: 'enabled' } })

    const project = `/api/admin/projects/${bridge.project.id}/state`
    await owner.ok({ target: project, body: { state: 'archived' } })
    expect(refusal(await claim(claimBody(invited.code, generateKeyPair())))).toEqual([
      410,
      'project_archived',
    ])
    await owner.ok({ target: project, body: { state: 'paused' } })
    await owner.ok({ target: project, body: { state: 'active' } })
    expect((await claim(claimBody(invited.code, generateKeyPair()))).status).toBe(200)
  })
})

describe('proof of possession', () => {
  const device = '{"os":"linux","machine":"m1","install":"i1"}'
  const proofFor = (code: string, keys: KeyPair, publicKey: string, at?: string) =>
    sign(keys.privateKey, enrollV1({ codeSha256: sha256Hex(code), publicKey, ...(at && { device: at }) }))

  const wrongs: { what: string; error: string; body(code: string): { body: object; device?: string } }[] = [
    {
      what: 'a proof by another key',
      error: 'signature_invalid',
      body: (code) => {
        const { publicKey } = generateKeyPair()
        return { body: { ...claimBody(code, generateKeyPair()), public_key: publicKey } }
      },
    },
    {
      what: 'a proof over another code',
      error: 'signature_invalid',
      body: (code) => ({ body: { ...claimBody(`${code.slice(0, -1)}-`, generateKeyPair()), code } }),
    },
    {
      what: 'a key of small order, for which one proof fits every text',
      error: 'signature_invalid',
      body: (code) => ({
        body: {
          ...claimBody(code, generateKeyPair()),
          public_key: 'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
          proof: Buffer.concat([Buffer.from([1]), Buffer.alloc(63)]).toString('base64url'),
        },
      }),
    },
    {
      what: 'a key that is not reduced',
      error: 'signature_invalid',
      body: (code) => ({
        body: {
          ...claimBody(code, generateKeyPair()),
          public_key: '7v_______________________________________38',
        },
      }),
    },
    {
      what: 'a device for a key-bound enrolment',
      error: 'device_mismatch',
      body: (code) => {
        const keys = generateKeyPair()
        const proof = proofFor(code, keys, keys.publicKey, device)
        return { body: { ...claimBody(code, keys), device, proof }, device }
      },
    },
    {
      what: 'a device that is not in the header',
      error: 'device_mismatch',
      body: (code) => {
        const keys = generateKeyPair()
        return {
          body: { ...claimBody(code, keys), device, proof: proofFor(code, keys, keys.publicKey, device) },
        }
      },
    },
  ]

  test.each(wrongs)('$what is refused, and the code stays valid', async ({ body, error }) => {
    const invited = await invite()
    const sent = body(invited.code)
    expect(refusal(await claim(sent.body, sent.device))).toEqual([401, error])
    expect(credentialsOf(invited.agentId)).toEqual([])
    expect(await stateOf(invited)).toBe('pending')
    expect((await claim(claimBody(invited.code, generateKeyPair()))).status).toBe(200)
  })

  test('a device-bound enrolment accepts the device that signed, again too, and no other device', async () => {
    const invited = await invite({ binding: 'device' })
    const keys = generateKeyPair()
    expect(refusal(await claim(claimBody(invited.code, keys)))).toEqual([401, 'device_mismatch'])
    const body = {
      ...claimBody(invited.code, keys),
      device,
      proof: proofFor(invited.code, keys, keys.publicKey, device),
    }
    const first = await claim(body, device)
    expect(first.json).toMatchObject({ binding: 'device' })
    expect((await claim(body, device)).json).toMatchObject({
      credential_id: (first.json as Enrolled).credential_id,
    })
    const other = device.replace('m1', 'm2')
    const moved = { ...body, device: other, proof: proofFor(invited.code, keys, keys.publicKey, other) }
    expect(refusal(await claim(moved, other))).toEqual([410, 'enrollment_used'])
  })
})

describe('an agent that enrolls again', () => {
  const enrolled = async (invited: Invited) => {
    const keys = generateKeyPair()
    const agent = agentOf(await claim(claimBody(invited.code, keys)), keys)
    await agent.startSession()
    return agent
  }
  const standing = async (agent: TestAgent) => {
    const reply = await agent.call({ target: '/api/v1/peers' })
    return errorOf(reply) ?? 'ok'
  }

  test('loses its earlier credentials and their session', async () => {
    const invited = await invite()
    const before = await enrolled(invited)
    const after = await enrolled(await invite({}, invited.agentId))
    expect(await standing(before)).toBe('credential_revoked')
    expect(await standing(after)).toBe('ok')
    expect(after.session?.generation).toBe(2)
    expect(credentialsOf(invited.agentId).filter(({ revoked_at }) => revoked_at === null)).toHaveLength(1)
  })

  test('keeps them if the owner requests it, with the same session', async () => {
    const invited = await invite()
    const before = await enrolled(invited)
    const keys = generateKeyPair()
    const { code } = await invite({ keep_existing: true }, invited.agentId)
    const after = agentOf(await claim(claimBody(code, keys)), keys)
    expect(await standing(before)).toBe('ok')
    await expect(after.startSession()).rejects.toThrow('session_active')
    expect(credentialsOf(invited.agentId).map(({ revoked_at }) => revoked_at)).toEqual([null, null])
  })

  test('is not affected by a second use of an old code', async () => {
    const invited = await invite()
    const agent = await enrolled(invited)
    expect(refusal(await claim(claimBody(invited.code, generateKeyPair())))).toEqual([410, 'enrollment_used'])
    expect(await standing(agent)).toBe('ok')
  })
})
