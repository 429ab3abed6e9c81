import { noLane } from '../database/lanes.ts'
import type { Tx } from '../database/tx.ts'
import type { Writer } from '../database/writer.ts'

/** Records offers. Those of concurrent reads are written in one transaction. */
export interface OfferLog<Offer> {
  /** Resolves with the commit that contains the offer. */
  record(offer: Offer): Promise<void>
}

/** A running unit blocks all other writes, so its size is bounded. */
const maxOffers = 500

export function createOfferLog<Offer>(
  write: Writer['write'],
  mark: (tx: Tx, offer: Offer) => Promise<void>,
): OfferLog<Offer> {
  let open: { readonly offers: Offer[]; readonly written: Promise<void> } | undefined

  const begin = () => {
    const offers: Offer[] = []
    const written = write(noLane, async (tx) => {
      if (open?.offers === offers) open = undefined
      await Promise.all(offers.map((offer) => mark(tx, offer)))
    })
    return { offers, written }
  }

  return {
    record(offer) {
      if (open === undefined || open.offers.length >= maxOffers) open = begin()
      open.offers.push(offer)
      return open.written
    },
  }
}
