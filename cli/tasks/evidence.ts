/**
 * `--evidence KIND:VALUE`: evidence for a result. A file is named and hashed, never sent.
 *
 * Contract §8.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Evidence } from '../../sdk/index.ts'
import { invalid } from '../command.ts'
import { CommandError } from '../exit-codes.ts'

/** Kinds of the contract, repeated here because only commands that run load the SDK. */
export const kinds = ['text', 'url', 'commit', 'file', 'command', 'message', 'transfer'] as const
type Kind = (typeof kinds)[number]

export interface GivenEvidence {
  readonly kind: Kind
  readonly value: string
}

/** Parses one `--evidence`; the option may be given several times. */
export function evidenceOption(
  text: string,
  before: readonly GivenEvidence[] = [],
): readonly GivenEvidence[] {
  const [, word = '', value = ''] = /^([a-z]+):([\s\S]+)$/.exec(text) ?? []
  const kind = kinds.find((known) => known === word)
  if (kind !== undefined) return [...before, { kind, value }]
  throw invalid(`It must be KIND:VALUE, the kind one of ${kinds.join(', ')}.`)
}

/** Builds the evidence items and hashes the named files. @throws CommandError when a file cannot be read */
export async function gatherEvidence(
  given: readonly GivenEvidence[],
  exitCode?: number | undefined,
): Promise<Evidence[]> {
  const items: Evidence[] = []
  for (const { kind, value } of given) {
    const code = kind === 'command' && exitCode !== undefined ? { exit_code: exitCode } : {}
    const sha256 = kind === 'file' ? { sha256: await hashFile(value) } : {}
    items.push({ kind, value, ...code, ...sha256 })
  }
  return items
}

export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new CommandError('usage', `cannot read the evidence file ${path} (${code ?? 'unknown error'})`, {
      cause,
    })
  }
  return hash.digest('hex')
}
