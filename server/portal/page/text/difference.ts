/** The difference of two texts, line by line. */

export interface Piece {
  readonly kind: 'same' | 'removed' | 'added'
  readonly lines: readonly string[]
}

/** Cells of the table of a comparison. Larger changes are shown as one piece removed and one added. */
const mostCells = 1_000_000

/** Returns the lines of both texts in order; what was removed comes before what was added. */
export function difference(before: string, after: string): Piece[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1
  let end = 0
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  )
    end += 1
  const pieces: Piece[] = [
    { kind: 'same', lines: old.slice(0, start) },
    ...middle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    { kind: 'same', lines: old.slice(old.length - end) },
  ]
  return pieces.filter(({ lines }) => lines.length > 0)
}

function middle(old: readonly string[], now: readonly string[]): Piece[] {
  const whole: Piece[] = [
    { kind: 'removed', lines: old },
    { kind: 'added', lines: now },
  ]
  if (old.length === 0 || now.length === 0 || old.length * now.length > mostCells) return whole
  const width = now.length + 1
  // Length of the longest common sequence of what follows each pair of lines.
  const common = new Uint32Array((old.length + 1) * width)
  const at = (row: number, column: number): number => common[row * width + column] ?? 0
  for (let row = old.length - 1; row >= 0; row -= 1)
    for (let column = now.length - 1; column >= 0; column -= 1)
      common[row * width + column] =
        old[row] === now[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1))
  const pieces: { kind: Piece['kind']; lines: string[] }[] = []
  const add = (kind: Piece['kind'], line = '') => {
    const last = pieces.at(-1)
    if (last?.kind === kind) last.lines.push(line)
    else pieces.push({ kind, lines: [line] })
  }
  let row = 0
  let column = 0
  while (row < old.length || column < now.length) {
    if (row < old.length && column < now.length && old[row] === now[column]) {
      add('same', old[row])
      row += 1
      column += 1
    } else if (column >= now.length || (row < old.length && at(row + 1, column) >= at(row, column + 1))) {
      add('removed', old[row])
      row += 1
    } else {
      add('added', now[column])
      column += 1
    }
  }
  return pieces
}
