/**
 * Proof of possession: the caller that claims a code proves that it holds the private key it registers.
 *
 * Contract §4: Ed25519 over the bridge-enroll-v1 text. The device is in the body and in the header, byte for
 * byte.
 */
import type { EnrollmentClaimInput } from '../../sdk/contract/agent/enrollments.ts'
import { enrollV1 } from '../../sdk/signing/canonical.ts'
import { parseDevice } from '../../sdk/signing/device.ts'
import { verify } from '../../sdk/signing/proof.ts'
import { ApiError } from '../api-error.ts'
import { storedKey } from '../identity/verifier.ts'

/** @throws signature_invalid, device_mismatch */
export async function requirePossession(
  input: EnrollmentClaimInput,
  codeSha256: Buffer,
  deviceHeader: string | undefined,
): Promise<void> {
  if (
    input.device !== deviceHeader ||
    (input.device !== undefined && parseDevice(input.device) === undefined)
  ) {
    throw new ApiError('device_mismatch', {
      message:
        'device must contain exactly os, machine and install, and X-Bridge-Device must be equal to it byte for byte.',
    })
  }
  const key = storedKey(input.public_key)
  if (key === undefined) {
    throw new ApiError('signature_invalid', { message: 'public_key is not a usable Ed25519 public key.' })
  }
  const text = enrollV1({
    codeSha256: codeSha256.toString('hex'),
    publicKey: input.public_key,
    ...(input.device !== undefined && { device: input.device }),
  })
  if (!(await verify(key, text, input.proof))) throw new ApiError('signature_invalid')
}
