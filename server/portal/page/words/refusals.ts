/** Failures in words for people, each with a way on. */
import { BridgeError, isOutcomeUnknown, LocalError } from '../../../../sdk/browser.ts'
import { session } from '../owner.ts'
import { capacityWords } from './capacity.ts'

export interface Refused {
  readonly words: string
  /** Command that helps on the host of the node. */
  readonly command?: string | undefined
  /** Finds the request in the log of the node. */
  readonly requestId?: string | undefined
}

type Words = (refusal: BridgeError) => Omit<Refused, 'requestId'>

const byCode: Readonly<Record<string, Words>> = {
  // The owner may see everything of the node.
  not_found: () => ({
    words:
      session.value?.user.role === 'owner' ? 'It does not exist.' : 'It does not exist, or it is not yours.',
  }),
  not_permitted: () => ({ words: 'Only the owner may do this.' }),
  name_taken: () => ({ words: 'The name is taken. Choose another.' }),
  project_archived: () => ({ words: 'The project is archived. Bring it back in its settings first.' }),
  capacity_reached: ({ details }) => ({ words: capacityWords(details.limit) }),
  idempotency_conflict: () => ({
    words: 'An earlier text of yours arrived, and is stored. Send again to send this one too.',
  }),
  setup_done: () => ({ words: 'This node has its owner already. Sign in instead.' }),
  owner_session_expired: () => ({ words: 'The sign-in has ended.' }),
  reauth_required: () => ({ words: 'This needs your password. Nothing was changed.' }),
  rate_limited: ({ retryAfterMs }) => ({
    words: `Too many tries. Try again in ${Math.ceil((retryAfterMs ?? 1000) / 1000)} s.`,
  }),
  storage_full: () => ({ words: 'The disk of the node is full. Reading and acknowledging still work.' }),
  internal: () => ({ words: 'A bug in the node. The request number finds it in the log.' }),
}

export function refusedBecause(error: unknown): Refused {
  if (error instanceof BridgeError) {
    const words = byCode[error.code]?.(error) ?? { words: error.reason }
    return { ...words, requestId: error.requestId }
  }
  if (error instanceof LocalError && isOutcomeUnknown(error))
    return { words: 'The node does not answer. Your text is kept: send it again, it takes effect once.' }
  return { words: 'This page failed. Reload it.' }
}

/** Returns the problem in words for people. A pattern of the contract is never shown. */
function sentenceOf(field: string, problem: string): string {
  const [, bound = '', count = ''] = /^must NOT have (fewer|more) than (\d+) char/.exec(problem) ?? []
  if (bound === 'more') return `At most ${count} characters.`
  if (bound === 'fewer' && count !== '1') return `At least ${count} characters.`
  if (bound === 'fewer') return field === 'title' ? 'Type a title.' : 'Type a name.'
  return problem.startsWith('must match pattern')
    ? 'It has a form or a character that is not allowed.'
    : problem
}

/** Returns whether the whole refusal stands at these fields, so that nothing else has to repeat it. */
export function isAtFields(error: unknown, fields: readonly string[]): boolean {
  const faults = Object.keys(faultsOf(error))
  return faults.length > 0 && faults.every((each) => fields.includes(each))
}

/** Returns the problem of each field that the node refused, by the name of the field. */
export function faultsOf(error: unknown): Readonly<Record<string, string>> {
  if (error instanceof BridgeError && error.code === 'name_taken')
    return { name: refusedBecause(error).words }
  if (!(error instanceof BridgeError) || !Array.isArray(error.details.faults)) return {}
  const faults = error.details.faults as readonly { path: string; problem: string }[]
  const found: Record<string, string> = {}
  for (const { path, problem } of faults) {
    const field = path.replace(/^body\//, '')
    const isEmpty = /^must NOT have fewer than 1 char/.test(problem)
    // An empty text breaks the pattern too, and the first sentence says more.
    if (found[field] === undefined || isEmpty) found[field] = sentenceOf(field, problem)
  }
  return found
}
