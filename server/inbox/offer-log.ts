/**
 * Writing down what was offered: the offers of one turn are one unit of the group commit, not one each.
 *
 * Nobody waits for such a write, and thousands of waits are told at once; what a unit costs beside its rows is paid
 * once for all of them.
 *
 * Contract §6 "An offer counts when its bytes were flushed".
 */
import type { Tx, Writer } from '../database/write-queue.ts'

export interface OfferLog<Offer> {
  /** Settles with the commit that holds the offer. */
  record(offer: Offer): Promise<void>
}

/** A unit keeps everything else waiting, so its size is bounded. */
const most = 500

export function createOfferLog<Offer>(
  write: Writer['write'],
  mark: (tx: Tx, offer: Offer) => Promise<void>,
): OfferLog<Offer> {
  let open: { readonly offers: Offer[]; readonly written: Promise<void> } | undefined

  const begin = () => {
    const offers: Offer[] = []
    const written = write(async (tx) => {
      if (open?.offers === offers) open = undefined
      for (const offer of offers) await mark(tx, offer)
    })
    return { offers, written }
  }

  return {
    record(offer) {
      if (open === undefined || open.offers.length >= most) open = begin()
      open.offers.push(offer)
      return open.written
    },
  }
}
