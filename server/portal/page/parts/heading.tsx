/** Heading of a screen. It names the tab, and takes the focus after a navigation. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

let isFirst = true

interface Props {
  /** Name of the screen in the title of the tab, in our words only. */
  readonly title: string
  /** Number of items that need the owner. */
  readonly count?: number | undefined
  readonly children: ComponentChildren
}

export function Heading({ title, count = 0, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (!isFirst) heading.current?.focus()
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
