/** Heading of a screen. It names the tab, and takes the focus after a navigation, unless the reader has moved it. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { hasMoved } from './moved.ts'

let isFirst = true

/** Number of items of the open project that need the owner. The title of the tab begins with it. */
export const attentionCount = signal(0)

interface Props {
  /** Name of the screen in the title of the tab, in our words only. */
  readonly title: string
  readonly children: ComponentChildren
}

export function Heading({ title, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  const count = attentionCount.value
  useEffect(() => {
    // The router has scrolled to the top, and a list may have scrolled to its end since.
    // A section that the address names has the focus; see `anchor.ts`. Which of the two effects runs last varies.
    const named = document.getElementById(location.hash.slice(1))
    if (!isFirst && named === null && !hasMoved()) heading.current?.focus({ preventScroll: true })
    isFirst = false
  }, [])
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ''}${title} · bridge`
  }, [title, count])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}
