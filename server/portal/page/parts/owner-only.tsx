/** A screen that only the owner of the node may open. A project administrator reads a sentence instead. */
import type { ComponentChildren } from 'preact'
import { session } from '../owner.ts'
import { Heading } from './heading.tsx'

interface Props {
  /** Name of the screen. */
  readonly title: string
  readonly children: ComponentChildren
}

export function OwnerOnly({ title, children }: Props) {
  if (session.value?.user.role === 'owner') return <>{children}</>
  return (
    <>
      <Heading title={title}>{title}</Heading>
      <p>Only the owner of the node can open this. You are an administrator of projects.</p>
      <p>
        <a href="/">Your projects</a>
      </p>
    </>
  )
}
