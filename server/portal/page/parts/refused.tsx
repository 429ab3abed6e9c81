/** A screen that the node refused or did not answer: its heading, and the reason. */
import { Heading } from './heading.tsx'
import { Refusal } from './refusal.tsx'

interface Props {
  /** Name of the screen. */
  readonly title: string
  /** Undefined while the answer is awaited. */
  readonly error: unknown
}

export function Refused({ title, error }: Props) {
  if (error === undefined) return null
  return (
    <>
      <Heading title={title}>{title}</Heading>
      <Refusal error={error} />
    </>
  )
}
