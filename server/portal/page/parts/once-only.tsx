/**
 * A secret that is shown once, with a button that copies it.
 *
 * `drop` ends this part: when it is closed, when the secret is used, and when the page goes away. The secret is
 * forgotten then, and also when its screen is left.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Copy } from './copy.tsx'
import type { Secret } from './secret.ts'

interface Props {
  /** Name of the secret, such as "Prompt of ada". */
  readonly label: ComponentChildren
  readonly copyLabel: ComponentChildren
  readonly secret: Secret
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
  // The browser alone holds the text of the field.
  useLayoutEffect(() => {
    if (text.current !== null) text.current.value = secret.current
    return () => {
      secret.current = ''
    }
  }, [secret])
  const [allRows, setAllRows] = useState(shortRows)
  // The browser wraps long lines, so the text has more rows than lines.
  useLayoutEffect(() => {
    if (!isLong || text.current === null) return
    const { lineHeight, paddingBlock } = getComputedStyle(text.current)
    const padding = paddingBlock.split(' ').reduce((sum, each) => sum + Number.parseFloat(each), 0)
    setAllRows(Math.ceil((text.current.scrollHeight - padding) / Number.parseFloat(lineHeight)))
  }, [isLong])
  const lines = useMemo(() => secret.current.split('\n').length, [secret])
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
