/** States of transfers in words, with the marks beside them. */
import type { TransferSummary } from '../../../../sdk/browser.ts'
import type { TaskMark } from './tasks.ts'
import { span } from './time.ts'

export type TransferState = TransferSummary['state']

export const transferStates: Readonly<
  Record<TransferState, { readonly mark: TaskMark; readonly words: string }>
> = {
  offered: { mark: 'open', words: 'Offered' },
  accepted: { mark: 'held', words: 'Accepted' },
  verified: { mark: 'completed', words: 'Verified' },
  declined: { mark: 'cancelled', words: 'Declined' },
  failed: { mark: 'failed', words: 'Failed' },
  cancelled: { mark: 'cancelled', words: 'Cancelled' },
  expired: { mark: 'failed', words: 'Expired' },
}

/** Returns whether a transfer may still change its state. */
export const isMoving = ({ state }: TransferSummary): boolean => state === 'offered' || state === 'accepted'

export const modeWords = ({ mode }: TransferSummary): string =>
  mode === 'package' ? 'through the node' : 'from machine to machine'

const number = new Intl.NumberFormat()

export const sizeWords = ({ size }: { readonly size: number }): string =>
  `${number.format(size)} ${size === 1 ? 'byte' : 'bytes'}`

export const sealWords = ({ encryption }: TransferSummary): string =>
  encryption === 'age' ? 'sealed' : 'not sealed'

export const expiryWords = ({ expires_at }: TransferSummary, nowMs: number): string => {
  const leftMs = Date.parse(expires_at) - nowMs
  return leftMs > 0 ? `in ${span(leftMs)}` : `${span(-leftMs)} ago`
}

export interface Receipt {
  readonly mark: 'completed' | 'open' | 'alert'
  readonly words: string
}

/** The confirmation of the recipient, compared with the offer. */
export function receiptWords(transfer: TransferSummary, recipient: string): Receipt {
  const { receipt, size, sha256 } = transfer
  if (receipt === null)
    return { mark: 'open', words: `No receipt: ${recipient} has not confirmed that it has the file.` }
  if (receipt.size === size && receipt.sha256 === sha256)
    return { mark: 'completed', words: 'Size and hash of the receipt are equal to the offer.' }
  return { mark: 'alert', words: 'The receipt differs from the offer.' }
}
