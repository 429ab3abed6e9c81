/** Claiming a code: the request that is sent, and the answers accepted as an identity. */
import { afterEach, expect, test } from 'vitest'
import { enroll, generateKeyPair } from '../../sdk/index.ts'
import { enrollV1, sha256Hex } from '../../sdk/signing/canonical.ts'
import { importPublicKey } from '../../sdk/signing/keys.ts'
import { verify } from '../../sdk/signing/proof.ts'
import { record } from '../support/bridges.ts'
import { answerJson, type FakeNode, refuse, startNode } from '../support/fake-node.ts'

const open: FakeNode[] = []
afterEach(async () => {
  for (const node of open.splice(0)) await node.close()
})

async function node(...args: Parameters<typeof startNode>): Promise<FakeNode> {
  const started = await startNode(...args)
  open.push(started)
  return started
}

const code = 'one-time-code-0123456789'
const claimed = { ...record, server_time: '2026-01-01T00:00:00.000Z' }

test('the claim contains the public key and a proof of the private one', async () => {
  const { url, heard } = await node((_heard, _nth, response) => answerJson(response, 200, claimed))
  const { privateKey, publicKey } = generateKeyPair()
  const client = { name: 'test', version: '1' }
  expect(await enroll({ baseUrl: url, code, privateKey, client })).toEqual(claimed)
  const { body, headers } = heard[0] ?? { body: '{}', headers: {} }
  const input = JSON.parse(body) as { proof: string }
  expect(input).toEqual({ code, public_key: publicKey, client, proof: input.proof })
  expect(headers.authorization).toBeUndefined()
  const text = enrollV1({ codeSha256: sha256Hex(code), publicKey })
  expect(await verify(importPublicKey(publicKey), text, input.proof)).toBe(true)
})

test('the device is in the body and the header, byte for byte equal', async () => {
  const { url, heard } = await node((_heard, _nth, response) =>
    answerJson(response, 200, { ...claimed, binding: 'device' }),
  )
  const device = '{"os":"linux","machine":"m","install":"i"}'
  await enroll({ baseUrl: url, code, device, privateKey: generateKeyPair().privateKey })
  expect(heard[0]?.headers['x-bridge-device']).toBe(device)
  expect(JSON.parse(heard[0]?.body ?? '')).toMatchObject({ device })
})

test.each([
  ['another binding', { binding: 'device' }],
  ['no id of the node', { server_id: '' }],
  ['no agent', { agent: {} }],
])('an answer with %s is refused as an identity', async (_what, more) => {
  const { url } = await node((_heard, _nth, response) => answerJson(response, 200, { ...claimed, ...more }))
  const call = enroll({ baseUrl: url, code, privateKey: generateKeyPair().privateKey })
  await expect(call).rejects.toMatchObject({ name: 'LocalError', code: 'bad_response' })
})

test('a refusal is reported once, without the code', async () => {
  const { url, heard } = await node((_heard, _nth, response) => refuse(response, 410, 'enrollment_used'))
  const call = enroll({ baseUrl: url, code, privateKey: generateKeyPair().privateKey })
  await expect(call).rejects.toMatchObject({ code: 'enrollment_used', status: 410 })
  await expect(call).rejects.not.toThrow(code)
  expect(heard).toHaveLength(1)
})

test('the code is not sent over plain http beyond this machine', async () => {
  const call = enroll({ baseUrl: 'http://10.0.0.5', code, privateKey: generateKeyPair().privateKey })
  await expect(call).rejects.toMatchObject({ code: 'insecure_url' })
})
