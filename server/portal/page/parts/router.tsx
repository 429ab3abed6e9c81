/**
 * Screen of the address. While its file loads, the previous screen stays.
 *
 * The router of `preact-iso` holds the tree of the screen that was left until the next navigation, so a long
 * conversation stayed in memory.
 */
import { type ComponentType, createContext } from 'preact'
import { useContext, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { exec, useLocation } from 'preact-iso/router'

export interface Screen {
  /** Undefined until the file of the screen is loaded. */
  component: ComponentType | undefined
  readonly load: () => Promise<void>
}

/** An address with a name for each part that varies, and its screen. */
export type Route = readonly [pattern: string, screen: Screen]

type Params = Readonly<Record<string, string>>

const Named = createContext<Params>({})

/** Returns the varying parts of the address by their names. */
export const useParams = (): Params => useContext(Named)

interface Props {
  readonly routes: readonly Route[]
  /** Screen of every other address. */
  readonly otherwise: Screen
  /** Called when another screen was drawn. */
  readonly drawn: () => void
}

interface Shown {
  readonly Component: ComponentType
  readonly params: Params
  readonly path: string
}

/** `preact-iso` leaves out of its types whether the address came by a link, not by the back button. */
type Location = ReturnType<typeof useLocation> & { readonly wasPush: boolean }

export function Router({ routes, otherwise, drawn }: Props) {
  const { path, wasPush } = useLocation() as Location
  const [, setLoads] = useState(0)
  const { screen, params } = useMemo(
    () => matching(routes, path) ?? { screen: otherwise, params: {} },
    [path],
  )
  const shown = useRef<Shown | undefined>(undefined)
  const before = shown.current?.path
  const { component } = screen
  if (component !== undefined) shown.current = { Component: component, params, path }
  useLayoutEffect(() => {
    if (component !== undefined) {
      if (before !== undefined && wasPush) scrollTo(0, 0)
      drawn()
      return
    }
    let isWanted = true
    void screen.load().then(() => {
      if (isWanted) setLoads((count) => count + 1)
    })
    return () => {
      isWanted = false
    }
  }, [path, component])
  if (shown.current === undefined) return null
  const { Component, params: named } = shown.current
  return (
    <Named.Provider value={named}>
      <Component />
    </Named.Provider>
  )
}

function matching(routes: readonly Route[], path: string) {
  for (const [pattern, screen] of routes) {
    const found: ReturnType<typeof exec> | undefined = exec(path, pattern)
    if (found !== undefined) return { screen, params: found.params }
  }
  return undefined
}
