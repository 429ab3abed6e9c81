/** Finds cycles in a graph of imports. */

/** Returns one chain for each cycle, such as `a.ts → b.ts → a.ts`. `graph` maps each node to those it imports. */
export function circles(graph: ReadonlyMap<string, Iterable<string>>): string[] {
  const unread = new Map(graph)
  const chain: string[] = []
  const found: string[] = []
  const follow = (node: string): void => {
    const from = chain.indexOf(node)
    if (from >= 0) found.push([...chain.slice(from), node].join(' → '))
    const imports = unread.get(node)
    if (imports === undefined) return
    unread.delete(node)
    chain.push(node)
    for (const target of new Set(imports)) follow(target)
    chain.pop()
  }
  for (const node of graph.keys()) follow(node)
  return found
}
