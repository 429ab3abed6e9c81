/**
 * A long list in windows of 25 items: only the seven windows around the middle of the view are drawn.
 *
 * - The other windows keep their height, so the page stays as long as it is.
 * - The first item in view keeps its place when items above it change. If the end of the list is in view, the end
 *   keeps its place instead, so a new item pushes the older ones up.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'

const size = 25
const around = 3
/** Height of an item that was never drawn, in pixels. */
const guess = 130
/** Distance to an end of the list at which more of it is read, in pixels. */
const near = 1500

export interface Revealing {
  /** Number of the item. Undefined: the end of the list. */
  readonly number: number | undefined
}

interface Props<T> {
  readonly label: string
  /** Ascending by their numbers. */
  readonly items: readonly T[]
  readonly numberOf: (item: T) => number
  readonly draw: (item: T) => ComponentChildren
  /** Item to show. Another object shows it again. */
  readonly reveal: Revealing
  readonly nearStart: () => void
  readonly nearEnd: () => void
  /** Called when the end of the list comes into view or leaves it. */
  readonly atEnd: (isAtEnd: boolean) => void
}

export function Windowed<T>({ label, items, numberOf, draw, reveal, ...on }: Props<T>) {
  const list = useRef<HTMLDivElement>(null)
  const end = useRef<HTMLDivElement>(null)
  const heights = useRef(new Map<number, number>())
  const revealed = useRef<Revealing | undefined>(undefined)
  const windows = useMemo(
    () => [...Map.groupBy(items, (item) => Math.floor(numberOf(item) / size))],
    [items, numberOf],
  )
  const [middle, setMiddle] = useState<number>()
  const wanted = reveal === revealed.current ? middle : windowOf(reveal, items.length === 0)
  const found = windows.findIndex(([number]) => number >= (wanted ?? Number.POSITIVE_INFINITY))
  const center = found === -1 ? windows.length - 1 : found
  const held = holding(list.current, end.current)
  const look = () => {
    if (list.current === null || end.current === null) return
    setMiddle(windows[middleOf(list.current)]?.[0])
    const { top, bottom } = list.current.getBoundingClientRect()
    on.atEnd(isInView(end.current))
    if (top > -near) on.nearStart()
    if (bottom < innerHeight + near) on.nearEnd()
  }
  const looking = useRef(look)
  looking.current = look

  useLayoutEffect(() => {
    for (const window of list.current?.children ?? [])
      if (window instanceof HTMLElement && window.childElementCount > 0)
        heights.current.set(Number(window.dataset.window), window.offsetHeight)
    if (reveal === revealed.current) restore(held)
    else if (items.length > 0) {
      revealed.current = reveal
      show(list.current, end.current, reveal)
      setMiddle(wanted)
    }
  })
  useEffect(() => {
    let frame = 0
    const soon = () => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => looking.current())
    }
    addEventListener('scroll', soon, { passive: true })
    addEventListener('resize', soon, { passive: true })
    return () => {
      cancelAnimationFrame(frame)
      removeEventListener('scroll', soon)
      removeEventListener('resize', soon)
    }
  }, [])
  // The list may be too short to be scrolled.
  useEffect(() => looking.current(), [items])
  return (
    <>
      <div class="windowed" role="feed" aria-label={label} ref={list}>
        {windows.map(([number, all], index) => (
          <Window key={number} number={number} height={heights.current.get(number) ?? all.length * guess}>
            {Math.abs(index - center) <= around ? all.map(draw) : undefined}
          </Window>
        ))}
      </div>
      <div ref={end} />
    </>
  )
}

interface WindowProps {
  readonly number: number
  /** Height while nothing in it is drawn. */
  readonly height: number
  readonly children: ComponentChildren
}

function Window({ number, height, children }: WindowProps) {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    // The policy of the page forbids the attribute, not the property.
    if (box.current !== null) box.current.style.blockSize = children === undefined ? `${height}px` : ''
  })
  return (
    <div ref={box} data-window={number}>
      {children}
    </div>
  )
}

const windowOf = ({ number }: Revealing, isEmpty: boolean): number | undefined =>
  number === undefined || isEmpty ? undefined : Math.floor(number / size)

/** Returns the index of the window at the middle of the view, by halving. */
function middleOf({ children }: HTMLElement): number {
  let [low, high] = [0, children.length - 1]
  while (low < high) {
    const half = Math.floor((low + high) / 2)
    if ((children[half]?.getBoundingClientRect().bottom ?? 0) < innerHeight / 2) low = half + 1
    else high = half
  }
  return low
}

interface Held {
  readonly element: Element
  readonly top: number
}

/** Returns what is to keep its place: the end if it is in view, else the first item in view. */
function holding(list: Element | null, end: Element | null): Held | undefined {
  if (list === null || end === null) return undefined
  const element = isInView(end)
    ? end
    : [...list.querySelectorAll('[data-number]')].find((each) => each.getBoundingClientRect().bottom > 60)
  return element && { element, top: element.getBoundingClientRect().top }
}

function restore(held: Held | undefined): void {
  if (held === undefined || !held.element.isConnected) return
  const moved = held.element.getBoundingClientRect().top - held.top
  if (moved !== 0) scrollBy({ top: moved, behavior: 'instant' })
}

const isInView = (element: Element): boolean => element.getBoundingClientRect().top <= innerHeight

function show(list: Element | null, end: Element | null, { number }: Revealing): void {
  const target = number === undefined ? end : list?.querySelector(`[data-number="${number}"]`)
  if (number === undefined) scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' })
  else if (target instanceof HTMLElement) {
    target.scrollIntoView({ block: 'start', behavior: 'instant' })
    target.focus({ preventScroll: true })
  }
}
