/** The router of a screen whose answers may come after the person has left it. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'

/**
 * As `route` of the router, but only while the screen that asked for it is open. A late answer would
 * otherwise carry the person away from another screen, and what is typed there would be lost.
 */
export function useOwnRoute(): (to: string, replaces?: boolean) => void {
  const { path, route } = useLocation()
  // The screen that was left stays while the file of the next one loads, so its end alone says too little.
  const open = useRef<string | undefined>(undefined)
  useLayoutEffect(() => {
    open.current = path
    return () => {
      open.current = undefined
    }
  }, [path])
  return (to, replaces) => {
    if (open.current === path) route(to, replaces)
  }
}
