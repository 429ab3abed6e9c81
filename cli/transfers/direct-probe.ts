/**
 * Checks that the address for `transfer send --direct` leads to our own helper, before the peer gets it. If
 * it does not, the command fails with the reason.
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
  /** True if an earlier check succeeded. A temporary failure is then only noted. */
  readonly wasGood?: boolean
}

/**
 * Checks the address. If helper or tunnel ends meanwhile, returns, because the caller then restarts them.
 * @throws CommandError
 */
export async function requireWayHere(
  { signal, output }: Pick<CliContext, 'signal' | 'output'>,
  { endpoint, token, ended }: Pick<ServingHelper, 'endpoint' | 'token' | 'ended'>,
  manifest: Manifest,
  { wasGood = false, ...times }: Probe = {},
): Promise<void> {
  const { HelperError, isTemporary, loadProbe, LocalError } = await import('../../sdk/program.ts')
  const { probeHelper } = await loadProbe()
  const helperEnd = new AbortController()
  const end = () => helperEnd.abort()
  void ended.then(end, end)
  try {
    await probeHelper({ endpoint, token, allowPlainHttp: true }, manifest, {
      signal: AbortSignal.any([signal, helperEnd.signal]),
      ...times,
    })
  } catch (error) {
    if (!signal.aborted && helperEnd.signal.aborted) return
    if (!(error instanceof LocalError) || error.code === 'aborted') throw error
    const words = `the tunnel does not lead to this command: ${failureWords(error)}`
    if (!wasGood || !isTemporary(error, 'tunnel') || error.cause instanceof HelperError)
      throw new CommandError(localExits[error.code], words, { hint: hintOf(error), cause: error })
    output.note(`${words}; it did before, so the peer gets the address again`)
  }
}

const skipHint = '--no-probe skips this check if only the peer can reach the address'

const hints: Partial<Record<LocalErrorCode, string>> = {
  redirected: 'give the address that it redirects to; a tunnel with a sign-in page does not work',
  integrity: 'it leads to another local port than the one after =',
  certificate_refused: `NODE_EXTRA_CA_CERTS can name an authority to trust; ${skipHint}`,
}

const hintOf = ({ code }: LocalError): string =>
  hints[code] ?? `does it lead to the given local port? ${skipHint}`
