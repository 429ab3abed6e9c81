/**
 * Whether the reader has moved the focus on the present screen. A screen draws its heading when its data comes, and
 * must not take the focus from a reader who has gone on until then.
 */

/** Path of the screen on which a key or the pointer last moved the focus. */
let movedAt: string | undefined

const movingKeys: ReadonlySet<string> = new Set(['Tab', 'j', 'k'])

const note = () => {
  movedAt = location.pathname
}

// A link changes the address after these events.
addEventListener('pointerdown', note, { capture: true, passive: true })
addEventListener('keydown', ({ key }) => movingKeys.has(key) && note(), { capture: true, passive: true })

export const hasMoved = (): boolean =>
  movedAt === location.pathname && document.activeElement !== document.body
