/**
 * Button that copies a text. If the browser refuses, it selects the text and names the key.
 *
 * The copy is the text as it was written. If it has invisible characters, a note says so.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { visiblePieces } from '../../../../sdk/browser.ts'
import { plural } from '../words/plural.ts'
import type { Secret } from './secret.ts'
import { note } from './toast.tsx'

interface Props {
  readonly text: string | Secret
  readonly label: ComponentChildren
  /** Element that shows the text. */
  readonly from?: { readonly current: HTMLTextAreaElement | null } | undefined
  readonly isQuiet?: boolean
  /** Runs after the text is on the clipboard. */
  readonly copied?: () => void
}

/** The key that copies a selected text on this machine. */
const key = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘C' : 'Ctrl+C'

export function Copy({ text, label, from, isQuiet = false, copied }: Props) {
  const [outcome, setOutcome] = useState<string>()
  const copy = async (button: HTMLButtonElement) => {
    const plain = typeof text === 'string' ? text : text.current
    try {
      await navigator.clipboard.writeText(plain)
      setOutcome('Copied')
      const hidden = visiblePieces(plain).filter(({ isName }) => isName).length
      if (hidden > 0) note(`Copied, with ${plural(hidden, 'invisible character')}.`)
      copied?.()
    } catch {
      if (from?.current) from.current.select()
      // The text stands before the button.
      else if (button.previousElementSibling) getSelection()?.selectAllChildren(button.previousElementSibling)
      setOutcome(`Selected: press ${key}`)
    }
  }
  // A timer that went on would keep the text in memory after its button is gone.
  useEffect(() => {
    if (outcome === undefined) return
    const timer = setTimeout(() => setOutcome(undefined), 4000)
    return () => clearTimeout(timer)
  }, [outcome])
  return (
    <button
      type="button"
      class={isQuiet ? 'quiet' : undefined}
      onClick={({ currentTarget }) => void copy(currentTarget)}
    >
      {outcome ?? label}
    </button>
  )
}
