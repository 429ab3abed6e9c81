/**
 * `--evidence KIND:VALUE`: evidence for a result. A file is named and hashed, never sent.
 *
 * Contract §8.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Evidence } from '../../sdk/index.ts'
import { invalid } from '../command.ts'
import { CommandError } from '../exit-codes.ts'
import { id } from '../ids/parse.ts'
import type { SeenIds } from '../ids/seen.ts'
import { idOfKind } from '../ids/typed.ts'

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
  if (kind !== undefined) return [...before, { kind, value: isObject(kind) ? id(value) : value }]
  throw invalid(`It must be KIND:VALUE, the kind one of ${kinds.join(', ')}.`)
}

/** Kinds whose value is an id, `last`, or the end of an id. */
const isObject = (kind: Kind): kind is 'message' | 'transfer' => kind === 'message' || kind === 'transfer'

/**
 * Builds the evidence items: hashes the named files, and completes the ids.
 *
 * @throws CommandError when a file cannot be read, or for the end of an id that is unknown or ambiguous
 */
export async function gatherEvidence(
  given: readonly GivenEvidence[],
  {
    exitCode,
    seen,
    signal,
  }: { readonly exitCode?: number | undefined; readonly seen: SeenIds; readonly signal: AbortSignal },
): Promise<Evidence[]> {
  const items: Evidence[] = []
  for (const { kind, value: typed } of given) {
    const value = isObject(kind) ? idOfKind(seen, typed, kind) : typed
    const code = kind === 'command' && exitCode !== undefined ? { exit_code: exitCode } : {}
    const sha256 = kind === 'file' ? { sha256: await hashFile(value, signal) } : {}
    items.push({ kind, value, ...code, ...sha256 })
  }
  return items
}

/**
 * Hashes a file until the signal aborts.
 *
 * @throws CommandError when it cannot be read, or is no regular file: a pipe may never end
 */
export async function hashFile(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  try {
    // Opening a FIFO must not block until a writer opens it.
    await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    if (!(await file.stat()).isFile())
      throw new CommandError('usage', `the evidence file ${path} is no regular file`)
    for await (const chunk of file.createReadStream({ signal })) hash.update(chunk as Buffer)
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    const { code } = cause as NodeJS.ErrnoException
    throw new CommandError('usage', `cannot read the evidence file ${path} (${code ?? 'unknown error'})`, {
      cause,
    })
  }
  return hash.digest('hex')
}
