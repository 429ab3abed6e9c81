import type { Tx } from '../database/tx.ts'
import type { Writer } from '../database/writer.ts'

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
