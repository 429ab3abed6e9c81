/** What counts as an answer, for `ask` and `status` alike. */
import type { Message } from '../sdk/index.ts'

/** A reply by the side that asked is a follow-up, not an answer. */
export const answers = ({ in_reply_to, sender }: Message, question: Message): boolean =>
  in_reply_to === question.id &&
  (sender.kind !== question.sender.kind || sender.agent_id !== question.sender.agent_id)
