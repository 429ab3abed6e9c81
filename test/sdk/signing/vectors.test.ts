import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { errors } from '../../../sdk/contract/errors.ts'
import { sha256Hex } from '../../../sdk/signing/canonical.ts'
import { publicKeyOf } from '../../../sdk/signing/keys.ts'
import { sign } from '../../../sdk/signing/proof.ts'
import { headChecks, proofChecks } from '../../../server/identity/verifier.ts'
import { signingFiles, signingFolder } from '../../vectors/generate.ts'
import {
  judge,
  type NamedVector,
  requestOf,
  rfc9421Key,
  sdkText,
  vectorNamed,
  vectors,
} from '../../vectors/vectors.ts'

const pinned = [
  {
    vector: 'v1-get-with-query',
    bytes: 272,
    hash: '512c0ee8cc7b4fc91655ab1132d59e7aed0d3993eb695ebeb00187a7f7a0a58c',
    proof: 'RhY9xZqSqtLbfIdohZ_jKGnzl7ynKr_vQC47mevfDluMvGeibbu-ut5kXriOBQ4fqVmcT7tYMxnYI9tqq-6dAQ',
  },
  {
    vector: 'v1-post-utf8-body',
    bytes: 269,
    hash: '6fe4b1dc8d01380fcacddb0a71c7201e9b386819532d95ee105381ab7eae4b85',
    proof: 'IJJ19kmXuqW-8qdLzkcscFb9BSnVofpTO5GP4S5dcNsF_jG_xfXCkW6MiBI4JE7yR2V_8p49AtImT1ga0A5BDw',
  },
  {
    vector: 'v2-post-challenge',
    bytes: 367,
    hash: 'd889d1075c9475f6ba0284a75ad6e730aa9eca0118a3fb07d330acfa253bb41b',
    proof: 'sXvmdzxGNRQ9eDanQmaAXbGFZcNNqkRozMLuq0cXkRHZrSPX30fPXXZ83bYUKeiW5d9WemuRxYUr2c5HPxqNCA',
  },
  {
    vector: 'v2-get-events',
    bytes: 389,
    hash: '8d159362cca33c1af2497b869f0f7d26d59c0f0ff985ab25409d3fe6e1e67b07',
    proof: 'D82zOZLimSqapLURc5Hf5AL2DeezekRTOPd90hkzIvMCCs4zpe5-m6465hZVTXe8iFUCRNjott-iorZ4XrjWDQ',
  },
]

test.each(pinned)('$vector has the pinned text and proof', ({ vector, bytes, hash, proof }) => {
  const { canonical_b64, proof: written } = vectorNamed(vector)
  const text = Buffer.from(canonical_b64 ?? '', 'base64')
  expect(text.length).toBe(bytes)
  expect(sha256Hex(text)).toBe(hash)
  expect(written).toBe(proof)
})

test('generating the vectors again changes no byte and leaves no extra file', () => {
  const files = signingFiles()
  expect(readdirSync(signingFolder).sort()).toEqual([...files.keys()].sort())
  for (const [name, content] of files) {
    expect(readFileSync(new URL(name, signingFolder), 'utf8'), name).toBe(content)
  }
})

test('there are at least 45 vectors of v1 and 60 in total, and every expectation is a code of the catalogue', () => {
  const byKey = vectors.filter((vector) => vector.identity?.binding === 'key')
  expect(byKey.length).toBeGreaterThanOrEqual(45)
  expect(vectors.length).toBeGreaterThanOrEqual(60)
  const unknown = vectors.filter(({ expect: code }) => code !== 'ok' && !Object.hasOwn(errors, code))
  expect(unknown.map(({ name }) => name)).toEqual([])
})

test('the README of the vectors explains every field, and no other', () => {
  const readme = readFileSync(new URL('../README.md', signingFolder), 'utf8')
  const explained = [...readme.matchAll(/^- `([a-z0-9_]+)`:/gm)].map(([, field]) => field)
  for (const { name, ...vector } of vectors) expect(Object.keys(vector), name).toEqual(explained)
  for (const field of Object.keys(vectorNamed('v2-post-challenge').identity ?? {})) {
    expect(readme).toContain(`\`${field}\``)
  }
})

test('no two vectors share a nonce, so one server can receive all of them', () => {
  const nonces = vectors.filter(({ proof }) => proof !== null).flatMap((vector) => noncesOf(vector))
  expect(nonces.filter((nonce, index) => nonces.indexOf(nonce) !== index)).toEqual([])
})

const accepted = vectors.filter(({ expect: code, canonical_b64 }) => code === 'ok' && canonical_b64 !== null)

test.each(accepted)('the SDK signs $name byte for byte', (vector) => {
  const text = sdkText(vector)
  expect(text).toBe(Buffer.from(vector.canonical_b64 ?? '', 'base64').toString('utf8'))
  expect(sign(rfc9421Key, text)).toBe(vector.proof)
  expect(vector.identity?.public_key).toBe(publicKeyOf(rfc9421Key))
})

const judged = vectors.filter(({ judged_by }) => judged_by === 'verifier')

test.each(judged)('the verifier answers $expect to $name', async (vector) => {
  expect(await judge(vector)).toBe(vector.expect)
})

test.each(vectors.filter(({ judged_by }) => judged_by === 'server'))(
  'the verifier accepts $name, which only stored data decides',
  async (vector) => {
    expect(await judge(vector)).toBe('ok')
  },
)

test.each(headChecks)('without the check "$name" a vector changes its outcome', async ({ name }) => {
  const others = headChecks.filter((check) => check.name !== name)
  expect(await changedBy(name, (vector) => judge(vector, others))).not.toEqual([])
})

test.each(proofChecks)('without the check "$name" a vector changes its outcome', async ({ name }) => {
  const others = proofChecks.filter((check) => check.name !== name)
  expect(await changedBy(name, (vector) => judge(vector, headChecks, others))).not.toEqual([])
})

test('every check has a unique name and a description', () => {
  const checks = [...headChecks, ...proofChecks]
  expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length)
  for (const { sentence } of checks) expect(sentence).toMatch(/^[A-Z].*\.$/)
})

async function changedBy(
  check: string,
  outcome: (vector: NamedVector) => Promise<string>,
): Promise<string[]> {
  const changed: string[] = []
  for (const vector of judged) {
    const now = await outcome(vector)
    if (now !== vector.expect) changed.push(`${vector.name}: ${vector.expect} → ${now}`)
  }
  process.stdout.write(`  without "${check}"\n${changed.map((line) => `    ${line}\n`).join('')}`)
  return changed
}

function noncesOf(vector: NamedVector): string[] {
  const { rawHeaders } = requestOf(vector)
  const at = rawHeaders.findIndex((name) => name.toLowerCase() === 'x-bridge-nonce')
  return at < 0 ? [] : [rawHeaders[at + 1] ?? '']
}
