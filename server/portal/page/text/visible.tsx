/** A name or another short text of somebody else: one line, in its own direction, invisible characters shown. */
import { visiblePieces } from '../../../../sdk/browser.ts'

const longest = 120

export function Visible({ text }: { readonly text: string }) {
  const characters = Array.from(text.replace(/\s+/g, ' '))
  const isCut = characters.length > longest
  const shown = isCut ? `${characters.slice(0, longest).join('')}…` : characters.join('')
  return (
    <bdi title={isCut ? text : undefined}>
      <Pieces text={shown} />
    </bdi>
  )
}

/** The text with a chip for each invisible character. Text nodes only: nothing in it is interpreted. */
export function Pieces({ text }: { readonly text: string }) {
  return (
    <>
      {visiblePieces(text).map(({ text: piece, isName }, index) =>
        isName ? (
          <span key={index} class="chip" title="An invisible character of the text">
            {piece}
          </span>
        ) : (
          piece
        ),
      )}
    </>
  )
}
