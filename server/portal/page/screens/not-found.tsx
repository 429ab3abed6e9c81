/** An address that the node answers with the page, but that no screen has. */
import { Heading } from '../parts/heading.tsx'

export function NotFound() {
  return (
    <>
      <Heading title="Not found">There is no such page</Heading>
      <p>Nothing is at this address. It may be cut off or mistyped.</p>
      <p>
        <a href="/">All projects</a>
      </p>
    </>
  )
}
