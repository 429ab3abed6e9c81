/** Complete example of claiming an enrolment: the signed text and the body. */
import { enrollV1, sha256Hex } from '../../sdk/signing/canonical.ts'
import { importPrivateKey, publicKeyOf } from '../../sdk/signing/keys.ts'
import { sign } from '../../sdk/signing/proof.ts'
import { code, fenced, numbered } from './markdown.ts'

/** `test-key-ed25519` of RFC 9421, appendix B.1.4. The test vectors use the same key. */
const privateKey = importPrivateKey(`-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
`)
const enrollmentCode = 'exampleCodeOf128BitsA'

export function claimSection(): string {
  const publicKey = publicKeyOf(privateKey)
  const signed = enrollV1({ codeSha256: sha256Hex(enrollmentCode), publicKey })
  const body = {
    code: enrollmentCode,
    public_key: publicKey,
    proof: sign(privateKey, signed),
    client: { name: 'example', version: '1.0' },
  }
  return [
    `With the key of [3.3](#33-example) and the code ${code(enrollmentCode)} the text is, here with the numbers of its lines:`,
    fenced('text', numbered(signed)),
    'and the body:',
    fenced('json', JSON.stringify(body, null, 2)),
  ].join('\n\n')
}
