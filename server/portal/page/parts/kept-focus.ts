/**
 * Keeps the focus where the reader is. When a list changes, the browser drops the focus of a row that moves, or
 * that is drawn again in another list. The next key would then do nothing.
 */

interface Focused {
  /** A reference that does not keep a screen in memory after the reader has left it. */
  readonly element: WeakRef<HTMLElement>
  /** Address of a link, by which the same row is found again. */
  readonly href: string | null
}

/** Watches the content of the page until the returned function is called. */
export function keepFocus(content: HTMLElement): () => void {
  let focused: Focused | undefined
  const remember = ({ target }: FocusEvent) => {
    const isInside = target instanceof HTMLElement && content.contains(target)
    focused = isInside ? { element: new WeakRef(target), href: target.getAttribute('href') } : undefined
  }
  const forget = () => {
    focused = undefined
  }
  const restore = () => {
    if (focused === undefined || document.activeElement !== document.body || !document.hasFocus()) return
    const element = focused.element.deref()
    const { href } = focused
    const found =
      element?.isConnected || href === null
        ? element
        : content.querySelector<HTMLElement>(`a[href="${CSS.escape(href)}"]`)
    found?.focus({ preventScroll: true })
  }
  const changes = new MutationObserver(restore)
  changes.observe(content, { childList: true, subtree: true })
  document.addEventListener('focusin', remember)
  // A press beside every control drops the focus because the reader wants it.
  document.addEventListener('pointerdown', forget)
  return () => {
    changes.disconnect()
    document.removeEventListener('focusin', remember)
    document.removeEventListener('pointerdown', forget)
  }
}
