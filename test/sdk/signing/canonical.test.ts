import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  enrollV1,
  type RequestParts,
  requestV1,
  requestV2,
  sha256Hex,
} from '../../../sdk/signing/canonical.ts'

const parts: RequestParts & { device: string } = {
  serverId: '6f1c2b9e-7d0a-4c55-9a77-0d6d1c5f3a21',
  credentialId: '0b9d7a54-3c1e-4f0b-8f6a-2d1f5f7c9e10',
  method: 'POST',
  target: '/api/v1/messages',
  bodySha256: sha256Hex('{}'),
  time: '1767225600',
  nonce: 'AAECAwQFBgcICQoLDA0ODw',
  session: '5a3f0c1d-9e2b-4a76-8c4d-7b6e5f4a3c2d',
  idempotencyKey: 'msg-0001',
  device: '{"os":"linux","machine":"m","install":"i"}',
}
const { device, ...keyBound } = parts

test('v1 is ten lines joined by single newlines, without a final one', () => {
  expect(requestV1(keyBound)).toBe(
    'bridge-request-v1\n' +
      '6f1c2b9e-7d0a-4c55-9a77-0d6d1c5f3a21\n' +
      '0b9d7a54-3c1e-4f0b-8f6a-2d1f5f7c9e10\n' +
      'POST\n' +
      '/api/v1/messages\n' +
      '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\n' +
      '1767225600\n' +
      'AAECAwQFBgcICQoLDA0ODw\n' +
      '5a3f0c1d-9e2b-4a76-8c4d-7b6e5f4a3c2d\n' +
      'msg-0001',
  )
})

test('v2 has another first line and the device as line eleven', () => {
  const expected = `${requestV1(keyBound).replace('bridge-request-v1', 'bridge-request-v2')}\n${device}`
  expect(requestV2(parts)).toBe(expected)
})

test('an absent session or key is a dash', () => {
  const { session, idempotencyKey, ...others } = keyBound
  expect(requestV1(others).split('\n').slice(8)).toEqual(['-', '-'])
  expect(requestV1({ ...others, session: undefined })).toBe(requestV1(others))
  expect(requestV1({ ...others, session })).not.toBe(requestV1(others))
  expect(requestV1({ ...others, idempotencyKey })).not.toBe(requestV1(others))
})

test('the enrolment text is four lines, with a dash if there is no device', () => {
  const enrolment = {
    codeSha256: sha256Hex('a-code'),
    publicKey: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs',
  }
  const lines = ['bridge-enroll-v1', enrolment.codeSha256, enrolment.publicKey]
  expect(enrollV1(enrolment)).toBe([...lines, '-'].join('\n'))
  expect(enrollV1({ ...enrolment, device })).toBe([...lines, device].join('\n'))
})

test('a line that is empty or not printable ASCII is refused by name', () => {
  expect(() => requestV1({ ...keyBound, target: '' })).toThrow(
    new TypeError('line 5 of the text to sign (target) is empty'),
  )
  expect(() => requestV1({ ...keyBound, session: '' })).toThrow(/line 9 .*session.* is empty/)
  expect(() => requestV1({ ...keyBound, nonce: 'a\nb' })).toThrow(/line 8 .*nonce.* not printable ASCII/)
  expect(() => requestV1({ ...keyBound, time: '1767225600\n' })).toThrow(/line 7 .*time.* not printable/)
  expect(() => requestV2({ ...parts, device: 'é' })).toThrow(/line 11 .*device.* not printable/)
  expect(() => enrollV1({ codeSha256: 'x', publicKey: '' })).toThrow(/line 3 .*public_key.* is empty/)
})

test('no two requests have the same text, because a line cannot extend into the next', () => {
  const line = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 4 })
  const request = fc.record({ method: line, target: line, time: line, nonce: line })
  const textOf = (changes: Partial<RequestParts>): string | undefined => {
    try {
      return requestV1({ ...keyBound, ...changes })
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError)
      return undefined
    }
  }
  fc.assert(
    fc.property(request, request, (one, other) => {
      const text = textOf(one)
      if (text === undefined || JSON.stringify(one) === JSON.stringify(other)) return
      expect(textOf(other)).not.toBe(text)
      expect(text.split('\n')).toHaveLength(10)
    }),
  )
})

test('a hash is lower-case hex, of bytes or of a string as UTF-8', () => {
  expect(sha256Hex('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  expect(sha256Hex(new Uint8Array())).toBe(sha256Hex(''))
  expect(sha256Hex(Buffer.from('café ✓'))).toBe(sha256Hex('café ✓'))
})
