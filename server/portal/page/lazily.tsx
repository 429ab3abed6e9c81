/** A screen whose file the browser loads when somebody opens it, so that the first load stays small. */
import type { ComponentType } from 'preact'
import lazy from 'preact-iso/lazy'
import { Heading } from './parts/heading.tsx'

export const lazily = (load: () => Promise<ComponentType>): ComponentType =>
  lazy(() => load().catch(() => Missing))

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
