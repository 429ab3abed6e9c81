/**
 * Labels shown to people, the same in the CLI and in the portal. The values that they label are in the schemas.
 *
 * Spec §1 "Connection status semantics".
 */
export const connectionLabels = {
  connected: 'Connected',
  listening_now: 'Listening now',
  last_contact: 'Last contact',
  next_contact: 'Next contact',
  after_current_work_step: 'After current work step',
  overdue: 'Overdue',
  /** "Stale dashboard data displays as Unavailable." */
  unavailable: 'Unavailable',
} as const

/** Label of each kind of attention item. */
export const attentionLabels = {
  enrollment_reused: 'An enrolment code was used a second time',
  session_replacement_refused: 'Two instances compete for one agent',
  guard_tripped: 'The loop guard stopped a conversation',
  agent_overdue: 'An agent missed a scheduled contact',
  task_failed: 'A task failed',
  unread_unheard: 'Messages wait and nobody listens',
  question_to_owner: 'A question to the owner',
  question_overdue: 'A question between agents is overdue',
  no_credential_left: 'An agent has no credential left',
} as const
/** Kind of an item in the owner's attention list. */
export type AttentionKind = keyof typeof attentionLabels
