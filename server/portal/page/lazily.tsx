/** A screen whose file the browser loads when somebody opens it, so that the first load stays small. */
import type { ComponentType } from 'preact'
import { Heading } from './parts/heading.tsx'
import type { Screen } from './parts/router.tsx'

export const lazily = (load: () => Promise<ComponentType>): Screen => {
  const screen: Screen = {
    component: undefined,
    load: async () => {
      screen.component = await load().catch(() => Missing)
    },
  }
  return screen
}

/** A screen of the first load. */
export const loaded = (component: ComponentType): Screen => ({ component, load: async () => {} })

/** A node that was upgraded no longer has the files of the page that is open. */
function Missing() {
  return (
    <>
      <Heading title="Not loaded">This screen did not load</Heading>
      <p>The node does not answer, or it was upgraded since this page was opened.</p>
      <p>
        <button type="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </p>
    </>
  )
}
