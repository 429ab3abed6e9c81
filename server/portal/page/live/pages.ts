/**
 * A list that is read page by page, newest first.
 *
 * - A failed read keeps what is known.
 * - One read runs at a time. A refresh that waits for its turn stands for all that are asked for meanwhile.
 */
import { computed, type ReadonlySignal, signal } from '@preact/signals'

export interface Page<T> {
  /** Newest first. */
  readonly items: readonly T[]
  /** Cursor of the next older page. Undefined at the end of the list. */
  readonly older: string | undefined
}

/** Reads the page after a cursor; without one, the newest page. */
export type ReadPage<T> = (after: string | undefined, signal: AbortSignal) => Promise<Page<T>>

export interface Pages<T> {
  /** Undefined until the first answer. */
  readonly items: ReadonlySignal<readonly T[] | undefined>
  readonly hasOlder: ReadonlySignal<boolean>
  readonly isReading: ReadonlySignal<boolean>
  /** Failure of the last read. */
  readonly error: ReadonlySignal<unknown>
  /** Reads the newest items again. */
  refresh(): Promise<void>
  /** Reads one more page at the end. */
  older(): Promise<void>
  stop(): void
}

export interface PagesOptions {
  /** True if an item never changes, as a record of the audit. A refresh then reads only what is newer. */
  readonly isFixed?: boolean
}

interface Known<T> extends Page<T> {
  readonly pages: number
}

const nothing = { items: [], older: undefined, pages: 0 } as const

export function pagesOf<T extends { readonly id: string }>(
  read: ReadPage<T>,
  { isFixed = false }: PagesOptions = {},
): Pages<T> {
  const known = signal<Known<T> | undefined>(undefined)
  const error = signal<unknown>(undefined)
  const waiting = signal(0)
  const stopping = new AbortController()
  let tail = Promise.resolve()
  let refreshing: Promise<void> | undefined
  /** True after a failed refresh, which only another refresh makes good. */
  let isStale = false

  const run = (act: (before: Known<T>) => Promise<Known<T>>): Promise<void> => {
    const turn = async () => {
      try {
        if (stopping.signal.aborted) return
        const next = await act(known.peek() ?? nothing)
        if (stopping.signal.aborted) return
        known.value = next
        if (!isStale) error.value = undefined
      } catch (failure) {
        if (!stopping.signal.aborted) error.value = failure
      } finally {
        waiting.value = waiting.peek() - 1
      }
    }
    waiting.value = waiting.peek() + 1
    tail = tail.then(turn)
    return tail
  }
  const again = async (before: Known<T>): Promise<Known<T>> => {
    const last = isFixed ? before.items[0]?.id : before.items.at(-1)?.id
    let all: readonly T[] = []
    for (let pages = 1, after: string | undefined; ; pages += 1) {
      const page = await read(after, stopping.signal)
      const at = page.items.findIndex(({ id }) => id === last)
      if (isFixed && at !== -1)
        return { ...before, items: [...all, ...page.items.slice(0, at), ...before.items] }
      all = [...all, ...page.items]
      if (at !== -1 || pages > before.pages || page.older === undefined)
        return { items: all, older: page.older, pages }
      after = page.older
    }
  }
  return {
    items: computed(() => known.value?.items),
    hasOlder: computed(() => known.value?.older !== undefined),
    isReading: computed(() => waiting.value > 0),
    error,
    refresh: () => {
      refreshing ??= run(async (before) => {
        refreshing = undefined
        isStale = true
        const next = await again(before)
        isStale = false
        return next
      })
      return refreshing
    },
    older: () =>
      run(async (before) => {
        if (before.older === undefined) return before
        const page = await read(before.older, stopping.signal)
        const isNew = ({ id }: T) => before.items.every((each) => each.id !== id)
        const items = [...before.items, ...page.items.filter(isNew)]
        return { items, older: page.older, pages: before.pages + 1 }
      }),
    stop: () => stopping.abort(),
  }
}
