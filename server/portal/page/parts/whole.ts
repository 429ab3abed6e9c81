/** Lists that a screen reads whole, and single resources. Both follow the records of the project. */

import type { Pages } from '../live/pages.ts'
import type { LiveProject } from '../live/project.ts'
import { usePages } from './page-of.tsx'

interface Following {
  readonly live: LiveProject
  /** Beginnings of the kinds of records after which the list is read again, such as `agent.`. */
  readonly kinds: readonly string[]
  /** Id of the only subject whose records count. */
  readonly about?: string | undefined
}

interface Item {
  readonly id: string
}

/** Reads all pages of a list. */
export const useWhole = <T extends Item>(
  name: string,
  all: (options: { readonly signal: AbortSignal }) => AsyncIterable<T>,
  following: Following,
): Pages<T> =>
  usePages(
    name,
    async (_after, signal) => {
      const items: T[] = []
      for await (const each of all({ signal })) items.push(each)
      return { items, older: undefined }
    },
    following,
  )

/** Reads one resource. The list has one item, which holds it. */
export const useOne = <T>(
  name: string,
  read: (options: { readonly signal: AbortSignal }) => Promise<T>,
  following: Following,
): Pages<Item & { readonly value: T }> =>
  usePages(
    name,
    async (_after, signal) => ({ items: [{ id: name, value: await read({ signal }) }], older: undefined }),
    following,
  )

/** Returns the cursor of the next page, as a list in pages wants it. */
export const olderOf = (page: { readonly has_more: boolean; readonly next_after: string | null }) =>
  page.has_more ? (page.next_after ?? undefined) : undefined
