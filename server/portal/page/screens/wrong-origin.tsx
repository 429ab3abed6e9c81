/** The page was opened at an address that the node refuses for every change. */
export function WrongOrigin({ origin }: { readonly origin: string }) {
  const { pathname, search } = location
  return (
    <main class="narrow">
      <h1>This is another address of the node</h1>
      <p>
        This node is reached at <strong>{origin}</strong>. You are at {location.origin}. The node accepts
        changes only from its own address.
      </p>
      <p>
        <a class="button" href={`${origin}${pathname}${search}`}>
          Go to {origin}
        </a>
      </p>
    </main>
  )
}
