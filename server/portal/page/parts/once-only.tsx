/**
 * A secret that is shown once, with a button that copies it.
 *
 * The secret lives in the state of the component that received it. `drop` removes it from there: when this part
 * is closed, when the secret is used, and when the page goes away.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Copy } from './copy.tsx'

interface Props {
  /** Name of the secret, such as "Prompt of ada". */
  readonly label: ComponentChildren
  readonly copyLabel: ComponentChildren
  readonly secret: string
  /** How long it works, such as "It works once and is shown once, until 02:10.". */
  readonly note: string
  readonly isUsed?: boolean
  /** Without a button that closes, the screen itself is left to close it. */
  readonly hasClose?: boolean
  readonly drop: () => void
}

const shortRows = 8

export function OnceOnly({ label, copyLabel, secret, note, isUsed = false, hasClose = true, drop }: Props) {
  const id = useId()
  const text = useRef<HTMLTextAreaElement>(null)
  const [isLong, showAll] = useState(false)
  const [isCopied, setCopied] = useState(false)
  const [isWarned, warn] = useState(false)
  useEffect(() => {
    if (isUsed) drop()
  }, [isUsed])
  useEffect(() => {
    addEventListener('pagehide', drop)
    return () => removeEventListener('pagehide', drop)
  }, [drop])
  const [allRows, setAllRows] = useState(shortRows)
  // The browser wraps long lines, so the text has more rows than lines.
  useLayoutEffect(() => {
    if (!isLong || text.current === null) return
    const { lineHeight, paddingBlock } = getComputedStyle(text.current)
    const padding = paddingBlock.split(' ').reduce((sum, each) => sum + Number.parseFloat(each), 0)
    setAllRows(Math.ceil((text.current.scrollHeight - padding) / Number.parseFloat(lineHeight)))
  }, [isLong])
  const lines = secret.split('\n').length
  return (
    <div class="once">
      <label class="label" for={id}>
        {label}
      </label>
      <textarea
        ref={text}
        id={id}
        class={isLong ? 'secret whole' : 'secret'}
        readOnly
        autocomplete="off"
        rows={isLong ? allRows : Math.min(lines, shortRows)}
        value={secret}
        onCopy={() => setCopied(true)}
      />
      <p class="meta">{note}</p>
      <p class="actions">
        <Copy text={secret} label={copyLabel} from={text} copied={() => setCopied(true)} />
        {lines > shortRows && (
          <button type="button" class="quiet" aria-expanded={isLong} onClick={() => showAll(!isLong)}>
            {isLong ? 'Show less' : 'Show all'}
          </button>
        )}
        {hasClose && (
          <button type="button" class="quiet" onClick={() => (isCopied || isWarned ? drop() : warn(true))}>
            {isWarned && !isCopied ? 'Close without a copy' : 'Close'}
          </button>
        )}
      </p>
      <p role="status">
        {isWarned && !isCopied && 'You have not copied it, and it is not shown again. Copy it, or close it.'}
      </p>
    </div>
  )
}
