/** A section of a screen with an anchor. */
import type { ComponentChildren } from 'preact'

interface Props {
  readonly id: string
  readonly title: string
  readonly children: ComponentChildren
}

export function Section({ id, title, children }: Props) {
  return (
    <section id={id} class="panel" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </section>
  )
}
