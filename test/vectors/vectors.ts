/** The vector files, and the verifier's answer to each: `ok` or the code of its refusal. */
import { readdirSync, readFileSync } from 'node:fs'
import { type RequestParts, requestV1, requestV2, sha256Hex } from '../../sdk/signing/canonical.ts'
import { parseDevice } from '../../sdk/signing/device.ts'
import { importPrivateKey } from '../../sdk/signing/keys.ts'
import { ApiError } from '../../server/api-error.ts'
import { presented } from '../../server/identity/raw-headers.ts'
import {
  checkHead,
  checkProof,
  type HeadCheck,
  headChecks,
  type ProofCheck,
  proofChecks,
  type StoredIdentity,
  storedKey,
} from '../../server/identity/verifier.ts'
import { parseRawRequest } from './raw-request.ts'
import type { Vector } from './signing-source/vector.ts'

export interface NamedVector extends Vector {
  readonly name: string
}

const folder = new URL('./signing/', import.meta.url)

export const vectors: readonly NamedVector[] = readdirSync(folder).map((file) => ({
  name: file.replace(/\.json$/, ''),
  ...(JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Vector),
}))

export function vectorNamed(name: string): NamedVector {
  const found = vectors.find((vector) => vector.name === name)
  if (found === undefined) throw new Error(`no vector ${name}`)
  return found
}

/** The key in RFC 9421, appendix B.1.4, as printed there. */
export const rfc9421Key = importPrivateKey(
  '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n-----END PRIVATE KEY-----\n',
)

export const requestOf = (vector: Vector) => parseRawRequest(Buffer.from(vector.request_raw_b64, 'base64'))

/** The text that the SDK signs for the request of a vector. */
export function sdkText(vector: NamedVector): string {
  const { method, target, rawHeaders, body } = requestOf(vector)
  const { credentialId, time = '', nonce = '', device, session, idempotencyKey } = presented(rawHeaders)
  const parts: RequestParts = {
    serverId: vector.server_id,
    credentialId,
    method,
    target,
    bodySha256: sha256Hex(body),
    time,
    nonce,
    session,
    idempotencyKey,
  }
  return device === undefined ? requestV1(parts) : requestV2({ ...parts, device })
}

/** The outcome with these checks; without arguments, the outcome that a server must give. */
export async function judge(
  vector: Vector,
  head: readonly HeadCheck[] = headChecks,
  proof: readonly ProofCheck[] = proofChecks,
): Promise<string> {
  try {
    await verifyRequest(vector, head, proof)
    return 'ok'
  } catch (error) {
    if (error instanceof ApiError) return error.code
    throw error
  }
}

async function verifyRequest(
  vector: Vector,
  head: readonly HeadCheck[],
  proof: readonly ProofCheck[],
): Promise<void> {
  const { method, target, rawHeaders, body } = requestOf(vector)
  const input = {
    presented: presented(rawHeaders),
    identity: storedIdentity(vector),
    now: new Date(vector.now * 1000),
    floor: vector.floor,
  }
  checkHead(input, head)
  if (input.identity === undefined) return
  await checkProof(
    {
      ...input,
      identity: input.identity,
      serverId: vector.server_id,
      method,
      target,
      bodySha256: sha256Hex(body),
    },
    proof,
  )
}

function storedIdentity({ identity }: Vector): StoredIdentity | undefined {
  if (identity === null) return undefined
  return {
    credentialId: identity.credential_id,
    binding: identity.binding,
    publicKey: identity.public_key === null ? undefined : storedKey(identity.public_key),
    device: identity.device === null ? undefined : parseDevice(identity.device),
    secretSha256: identity.secret_sha256 === null ? undefined : Buffer.from(identity.secret_sha256, 'hex'),
    state: identity.state,
  }
}
