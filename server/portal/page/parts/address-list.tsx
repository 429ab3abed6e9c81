/** The addresses of a text, each with the host to which it leads. None of them is a link. */
import { useMemo } from 'preact/hooks'
import { addressesIn } from '../text/addresses.ts'
import { Visible } from '../text/visible.tsx'
import { Copy } from './copy.tsx'

const most = 50

export function AddressList({ text }: { readonly text: string }) {
  const all = useMemo(() => addressesIn(text), [text])
  if (all.length === 0) return null
  return (
    <details class="addresses">
      <summary>{all.length === 1 ? '1 address' : `${all.length} addresses`} in this text</summary>
      <ul>
        {all.slice(0, most).map(({ text: written, host, ascii }) => (
          <li key={written}>
            <strong>
              <Visible text={host} />
            </strong>
            {ascii !== undefined && (
              <>
                {' '}
                written in ASCII: <code>{ascii}</code>
              </>
            )}
            <span class="meta">
              <Visible text={written} />
            </span>
            <Copy text={written} label="Copy" isQuiet />
          </li>
        ))}
        {all.length > most && <li class="meta">The other {all.length - most} are only in the text.</li>}
      </ul>
    </details>
  )
}
