/** The fields that the log hides, and those that it must still show. */
import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import { loggerOptions } from '../../server/http/log.ts'

/** Returns the logged line. */
function logged(fields: object): {
  readonly err?: { readonly code?: string }
  readonly [name: string]: unknown
} {
  let line = ''
  const options = loggerOptions('info') as object
  const app = fastify({ logger: { ...options, stream: { write: (text: string) => (line = text) } } })
  app.log.error(fields, 'happened')
  return JSON.parse(line)
}

const enrolmentCode = Buffer.alloc(18, 7).toString('base64url')

test.each([
  ['ENOSPC'],
  ['SQLITE_FULL'],
  ['ERR_TLS_CERT_ALTNAME_INVALID'],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE'],
  ['storage_full'],
])('the code of an error is shown: %s', (code) => {
  expect(logged({ err: Object.assign(new Error('x'), { code }) }).err?.code).toBe(code)
})

test.each([
  [enrolmentCode],
  ['ABCDEFGHIJKLMNOPQRSTUVWX'],
  ['abcdefghijklmnopqrstuvwx'],
  ['12345678'],
  [`E${'_A'.repeat(40)}`],
])('a value without the form of an error code is hidden, such as an enrolment code: %s', (code) => {
  const line = logged({ err: Object.assign(new Error('x'), { code }) })
  expect(line.err?.code).toBe('[redacted]')
  expect(JSON.stringify(line)).not.toContain(code)
})

test('every secret is hidden by its field name, at any depth', () => {
  const secret = enrolmentCode
  for (const fields of [
    { code: secret },
    { body: { code: secret } },
    { err: Object.assign(new Error('x'), { body: { code: secret, password: secret } }) },
    { err: Object.assign(new Error('x'), { token: secret, proof: secret }) },
    { headers: { authorization: secret, cookie: secret, 'set-cookie': secret } },
  ]) {
    const text = JSON.stringify(logged(fields))
    expect(text).toContain('[redacted]')
    expect(text).not.toMatch(new RegExp(secret))
  }
})
