/** Button that copies a text. If the browser refuses, it selects the text and names the key. */
import { useState } from 'preact/hooks'

interface Props {
  readonly text: string
  readonly label: string
  /** Element that shows the text. */
  readonly from?: { readonly current: HTMLTextAreaElement | null } | undefined
  readonly isQuiet?: boolean
  /** Runs after the text is on the clipboard. */
  readonly copied?: () => void
}

/** The key that copies a selected text on this machine. */
const key = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘C' : 'Ctrl+C'

export function Copy({ text, label, from, isQuiet = false, copied }: Props) {
  const [words, setWords] = useState(label)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setWords('Copied')
      copied?.()
    } catch {
      from?.current?.select()
      setWords(`Selected: press ${key}`)
    }
    setTimeout(() => setWords(label), 4000)
  }
  return (
    <button type="button" class={isQuiet ? 'quiet' : undefined} onClick={() => void copy()}>
      {words}
    </button>
  )
}
