/**
 * The enrolment code in pasted text, which may be the code alone or the whole prompt.
 *
 * A code begins with `enroll_`. Nodes before 0.2 issue codes without it, so without such a word the only line in the
 * form of a code counts. The code is a secret, and no error repeats it. Contract §4.
 */
import { CommandError } from '../exit-codes.ts'

const marked = /(?<![A-Za-z0-9_-])enroll_[A-Za-z0-9_-]{16,121}(?![A-Za-z0-9_-])/g
const alone = /^\s*([A-Za-z0-9_-]{16,128})\s*$/

/** @throws CommandError if the text has no code, or several */
export function enrollmentCodeIn(text: string): string {
  const words = new Set(text.match(marked))
  const lines = text.split('\n').flatMap((line) => alone.exec(line)?.[1] ?? [])
  const codes = words.size > 0 ? [...words] : [...new Set(lines)]
  const [code] = codes
  if (code !== undefined && codes.length === 1) return code
  if (codes.length > 1) {
    throw new CommandError(
      'usage',
      `standard input has ${codes.length} enrolment codes, and only one can be used`,
      {
        hint: 'paste one prompt, the newest',
      },
    )
  }
  throw new CommandError('usage', 'no enrolment code on standard input', {
    hint: 'the code is the single line between the CODE marks of the prompt; the whole prompt will do too',
  })
}

/** Returns whether pasted text is complete: it has a code, or it is a single line. */
export const hasCode = (text: string): boolean =>
  text.search(marked) >= 0 || text.trim().split('\n').length === 1

/** The options that the prompt's own command has. */
export interface PromptTerms {
  readonly url: string
  readonly profile: string
  readonly device?: true
  readonly allowPlainHttp?: true
}

const command = /\benroll --url (\S+) --profile ([\w.-]+)((?: --[a-z-]+)*)/g

/** Returns the options of the enrol command in the pasted prompt. Undefined if there is none, or several. */
export function promptTermsIn(text: string): PromptTerms | undefined {
  const found = [...text.matchAll(command)]
  const [, url = '', profile = '', flags = ''] = found[0] ?? []
  if (found.length !== 1) return undefined
  return {
    url,
    profile,
    ...(flags.includes(' --device') && { device: true }),
    ...(flags.includes(' --allow-plain-http') && { allowPlainHttp: true }),
  }
}
