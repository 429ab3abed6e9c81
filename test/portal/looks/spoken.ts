/** Sentences that a screen reader says by itself: each change of a live region and each alert that appears. */
import type { Page } from 'playwright-core'

/** Runs in every document. A `timer` inside a region is silent, and so is a region that is hidden. */
const listen = `(() => {
  window.spoken = []
  const before = new WeakMap()
  const textOf = (region) => {
    const copy = region.cloneNode(true)
    for (const silent of copy.querySelectorAll('[role=timer], [hidden], button')) silent.remove()
    return copy.textContent.replace(/\\s+/g, ' ').trim()
  }
  const look = () => {
    for (const region of document.querySelectorAll('[role=status], [role=alert], [aria-live=polite], output')) {
      const text = region.closest('[hidden]') === null ? textOf(region) : ''
      if (text !== (before.get(region) ?? '') && text !== '') spoken.push(text)
      before.set(region, text)
    }
  }
  new MutationObserver(look).observe(document, {
    subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ['hidden'],
  })
})()`

export interface Spoken {
  /** Sentences since the last call. */
  take(): Promise<string[]>
}

/** Listens to every document that the page opens from now on. */
export async function listenTo(page: Page): Promise<Spoken> {
  await page.addInitScript(listen)
  return { take: () => page.evaluate<string[]>('spoken.splice(0)') }
}
