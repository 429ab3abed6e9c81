/** Generated sections of handwritten pages: settings, checks of the verifier, signing example. */
import { readFileSync } from 'node:fs'
import { headChecks, proofChecks } from '../../server/identity/verifier.ts'
import { settings } from '../../server/settings.ts'
import { capital, code, fenced, numbered, table, visible, wrapped } from './markdown.ts'

/** Table of the server's settings, from the list that the server parses them by. */
export const settingsSection = (): string =>
  table(
    ['flag', 'variable', 'in config.json', 'default', 'meaning'],
    settings.map(({ name, env, fallback, meaning }) => [
      code(`--${name.replaceAll('_', '-')}`),
      code(env),
      code(name),
      fallback === '' ? 'none' : code(fallback),
      capital(meaning),
    ]),
  )

/**
 * Numbered list of the checks of an agent's request that need no stored state except its credential, in their
 * order.
 */
export const checksSection = (): string =>
  [...headChecks, ...proofChecks]
    .map(({ name, code: refusal, sentence }, index) =>
      wrapped(visible(`${capital(name)}, else ${code(refusal)}. ${sentence}`), `${index + 1}. `),
    )
    .join('\n')

const vectorsFolder = new URL('../../test/vectors/signing/', import.meta.url)
const exampleVector = 'v1-post-utf8-body.json'

interface Vector {
  readonly request_raw_b64: string
  readonly canonical_b64: string
  readonly server_id: string
  readonly proof: string
}

/** Complete example of a signed request: the signed text and the bytes that are sent. */
export function signingSection(): string {
  const vector = JSON.parse(readFileSync(new URL(exampleVector, vectorsFolder), 'utf8')) as Vector
  const [head = '', body = ''] = decoded(vector.request_raw_b64).split('\r\n\r\n')
  return [
    `The vector \`${exampleVector}\`, with \`server_id\` \`${vector.server_id}\`. The body, ${Buffer.byteLength(body)} bytes of UTF-8 without a line end:`,
    fenced('json', body),
    'The text that is signed, here with the numbers of its lines:',
    fenced('text', numbered(decoded(vector.canonical_b64))),
    'The request, its lines ended by CR LF:',
    fenced('http', `${head.replaceAll('\r\n', '\n')}\n\n${body}`),
  ].join('\n\n')
}

const decoded = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8')
