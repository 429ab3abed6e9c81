/** The id of a task or transfer, and links to its conversation and its audit records. */
import { Copy } from './copy.tsx'

interface Props {
  readonly project: string
  readonly noun: 'Task' | 'Transfer'
  readonly of: { readonly id: string; readonly conversation_id: string }
}

export function Elsewhere({ project, noun, of: { id, conversation_id } }: Props) {
  const home = `/projects/${project}`
  return (
    <>
      <dt>{noun}</dt>
      <dd>
        <code>{id}</code> <Copy text={id} label="Copy" isQuiet />
      </dd>
      <dt>Elsewhere</dt>
      <dd class="actions">
        <a href={`${home}/conversations/${conversation_id}`}>Its conversation</a>
        <a href={`${home}/audit?subject=${id}`}>Its audit</a>
      </dd>
    </>
  )
}
