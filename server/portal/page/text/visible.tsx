/** A name or another short text of somebody else: one line, in its own direction, invisible characters shown. */
import { useMemo } from 'preact/hooks'
import { visiblePieces } from '../../../../sdk/browser.ts'
import { plainName } from './plain-name.ts'

const longest = 120

export function Visible({ text }: { readonly text: string }) {
  const characters = Array.from(text.replace(/\s+/g, ' '))
  const isCut = characters.length > longest
  const shown = isCut ? `${characters.slice(0, longest).join('')}…` : characters.join('')
  return (
    <bdi title={isCut ? plainName(text) : undefined}>
      <Pieces text={shown} />
    </bdi>
  )
}

/** Pieces of a text that may be chips. A browser needs seconds to lay out thousands of chips. */
const mostPieces = 1000

/**
 * The text with a chip for each invisible character. After 1000 pieces, the names are plain text. Text nodes
 * only: nothing in it is interpreted.
 */
export function Pieces({ text }: { readonly text: string }) {
  const pieces = useMemo(() => visiblePieces(text), [text])
  const rest = pieces.slice(mostPieces).map((piece) => piece.text)
  return (
    <>
      {pieces.slice(0, mostPieces).map(({ text: piece, isName }, index) =>
        isName ? (
          <span key={index} class="chip" title="An invisible character of the text">
            {piece}
          </span>
        ) : (
          piece
        ),
      )}
      {rest.join('')}
    </>
  )
}
