/**
 * The way to the helper of `transfer send --direct`, tried from here before the peer is told of it: what does not lead to
 * our own helper is named, and nothing is deposited.
 *
 * Contract §9 "Direct mode", §12.
 */
import type { LocalError, LocalErrorCode, Manifest, ServingHelper } from '../../sdk/program.ts'
import type { CliContext } from '../context.ts'
import { CommandError, localExits } from '../exit-codes.ts'
import { failureWords } from '../failures/failure-words.ts'

export interface Probe {
  readonly withinMs?: number
  readonly attemptMs?: number
  /** The way was good before: what does not answer now may answer when the peer comes. */
  readonly wasGood?: boolean
}

/** A helper or a tunnel that ends by itself meanwhile is followed by another. @throws CommandError */
export async function requireWayHere(
  { signal, output }: Pick<CliContext, 'signal' | 'output'>,
  { endpoint, token, ended }: Pick<ServingHelper, 'endpoint' | 'token' | 'ended'>,
  manifest: Manifest,
  { wasGood = false, ...times }: Probe = {},
): Promise<void> {
  const { HelperError, isTemporary, LocalError, probeHelper } = await import('../../sdk/program.ts')
  const over = new AbortController()
  const end = () => over.abort()
  void ended.then(end, end)
  try {
    await probeHelper({ endpoint, token, allowPlainHttp: true }, manifest, {
      signal: AbortSignal.any([signal, over.signal]),
      ...times,
    })
  } catch (error) {
    if (!signal.aborted && over.signal.aborted) return
    if (!(error instanceof LocalError) || error.code === 'aborted') throw error
    const words = `the tunnel does not lead to this command: ${failureWords(error)}`
    if (!wasGood || !isTemporary(error, 'tunnel') || error.cause instanceof HelperError)
      throw new CommandError(localExits[error.code], words, { hint: hintOf(error), cause: error })
    output.note(`${words}; it did before, and is told to the peer again`)
  }
}

const onlyThere = '--no-probe skips this, where only the peer can reach it'

const hints: Partial<Record<LocalErrorCode, string>> = {
  redirected: 'name the address that it redirects to; a page to sign in at cannot stand before a transfer',
  integrity: 'it leads to another port than that of this command; see the port behind =',
  certificate_refused: `NODE_EXTRA_CA_CERTS names an authority to trust; ${onlyThere}`,
}

const hintOf = ({ code }: LocalError): string =>
  hints[code] ?? `does it lead to the local port that was named? ${onlyThere}`
