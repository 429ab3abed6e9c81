/**
 * Brings the section that the address names into view, and focuses its heading. The section stays in view while
 * the sections above it are read. Nothing happens if the reader has moved the focus before.
 */
import { useEffect } from 'preact/hooks'
import { hasMoved } from './moved.ts'

const settlingMs = 3000
const touches = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const

export function useAnchor(): void {
  useEffect(() => {
    const section = document.getElementById(location.hash.slice(1))
    if (section === null || hasMoved()) return
    const heading = section.querySelector('h2')
    if (heading !== null) heading.tabIndex = -1
    heading?.focus({ preventScroll: true })
    const settling = new ResizeObserver(() => section.scrollIntoView({ behavior: 'instant' }))
    const end = () => {
      settling.disconnect()
      clearTimeout(timer)
      for (const each of touches) removeEventListener(each, end)
    }
    const timer = setTimeout(end, settlingMs)
    // The first observation is a change too.
    settling.observe(document.body)
    for (const each of touches) addEventListener(each, end, { passive: true })
    return end
  }, [])
}
