/**
 * The kinds of audit records, each with one sentence for people. The server records no other kind, and the
 * command line and the docs read this list.
 *
 * Contract §10 "Audit kinds are one list".
 */
export const auditKinds = {
  'access.refused':
    'The node refused a request for lack of a right or a scope. At most one record an hour for each actor and code is written.',
  'administrator.assigned': 'The owner gave an administrator access to a project.',
  'administrator.created': 'The owner created an administrator.',
  'administrator.disabled': 'The owner disabled an administrator.',
  'administrator.enabled': 'The owner enabled an administrator again.',
  'administrator.link_made': 'The owner made a sign-in link for an administrator.',
  'administrator.unassigned': 'The owner took the access to a project from an administrator.',
  'agent.changed': 'An owner changed the role, the description, the prompt or the environment of an agent.',
  'agent.created': 'An owner created an agent.',
  'agent.disabled': 'An owner, or a restore from a backup, disabled an agent.',
  'agent.enabled': 'An owner enabled an agent again.',
  'agent.instructed': 'An owner set the work instructions of an agent.',
  'agent.renamed': 'An owner renamed an agent.',
  'audit.removed': 'The node removed audit records that were older than the policy keeps them.',
  'conversation.guard_tripped':
    'The loop guard refused a message. Only the first refusal in a window is recorded.',
  'conversation.opened': 'An agent or an owner opened a conversation.',
  'credential.issued': 'An owner issued a legacy credential.',
  'credential.revoked':
    'A credential was revoked: by an owner, by its successor or by a restore from a backup.',
  'enrollment.claimed': 'An agent claimed its enrolment with a key of its own.',
  'enrollment.created': 'An owner created an enrolment for an agent.',
  'enrollment.reused': 'Another key tried to claim an enrolment that was already used.',
  'enrollment.revoked':
    'An owner, a newer enrolment of the agent, or a restore from a backup revoked an enrolment that was pending.',
  'envelope_key.rotated': 'The host command `bridge server rotate-key` replaced the envelope key.',
  'environment.changed': 'An owner changed the name, the kind or the description of an environment.',
  'environment.created': 'An owner created an environment.',
  'message.acknowledged': 'The recipient acknowledged messages.',
  'message.removed': 'The node removed acknowledged messages that were older than the policy keeps them.',
  'message.sent': 'An agent or an owner sent a message.',
  'node.restored':
    'A host command, `bridge server restore` or `bridge server restored`, finished a restore from a backup.',
  'owner.confirmed': 'An owner confirmed the sign-in with the password.',
  'owner.password_changed': 'An owner changed the password, which ended all sign-ins of that owner.',
  'owner.set_up': 'The owner was created with the setup link.',
  'owner.setup_link_made': 'The host made a setup link.',
  'owner.sign_in_failed': 'A sign-in failed. At most one record per minute and address is written.',
  'owner.sign_in_link_made': 'The host made a sign-in link.',
  'owner.signed_in': 'An owner signed in.',
  'owner.signed_out': 'An owner signed out or ended another sign-in.',
  'pairing.disabled': 'An owner disabled the pairing of two agents.',
  'pairing.enabled': 'An owner enabled the pairing of two agents.',
  'project.changed': 'An owner changed the name, the description or the policy of a project.',
  'project.created': 'An owner created a project.',
  'project.deleted': 'The owner deleted a project. This record is the only one that stays.',
  'project.state_changed': 'An owner activated, paused or archived a project.',
  'recipient_key.registered': 'An agent registered its recipient key.',
  'recipient_key.set': 'An owner set the recipient key of an agent.',
  'session.closed': 'An agent closed its session.',
  'session.fenced': 'A session was fenced: nothing of it succeeds after that.',
  'session.replacement_refused':
    'Two instances replaced each other too often, and the node refused the next one.',
  'session.resumed': 'An agent resumed its session.',
  'session.schedule_reported': 'An agent reported when it will make contact next.',
  'session.started': 'An agent started a new session.',
  'takeover.issued': 'An owner issued a takeover grant, which fenced the session of the agent.',
  'task.cancel_requested': 'The creator or an owner asked the holder of a claimed task to stop.',
  'task.cancelled': 'The creator or an owner cancelled a task that nobody held.',
  'task.claimed': 'The assignee claimed a task.',
  'task.completed': 'The holder completed a task with a result and evidence.',
  'task.created': 'An agent or an owner created a task.',
  'task.declined': 'The assignee declined a task.',
  'task.expired': 'The claim of a task expired.',
  'task.failed': 'The holder reported that a task failed.',
  'task.progressed': 'The holder reported progress of a task.',
  'task.released': 'The holder released its claim of a task.',
  'task.renewed': 'The holder renewed its claim of a task.',
  'task.stopped': 'The agent that held a task confirmed that its work has stopped.',
  'telemetry.token_issued': 'The host command `bridge server telemetry-token` made a telemetry token.',
  'transfer.accepted': 'The recipient accepted a transfer.',
  'transfer.cancelled': 'A side, an owner or the node cancelled a transfer.',
  'transfer.cleaned_up': 'A side reported that it removed its local files of a transfer.',
  'transfer.declined': 'The recipient declined a transfer.',
  'transfer.endpoint_deposited': 'The side that runs the helper deposited the endpoint of a direct transfer.',
  'transfer.endpoint_read': 'The other side read the endpoint of a direct transfer.',
  'transfer.expired': 'A transfer expired.',
  'transfer.failed': 'A side or the node reported that a transfer failed.',
  'transfer.offered': 'An agent offered a file.',
  'transfer.package_removed': 'The node removed the bytes of a package.',
  'transfer.part_stored': 'The sender uploaded a part of a package.',
  'transfer.receipt_refused': 'The receipt of a transfer did not match the offered size and hash.',
  'transfer.uploaded': 'The sender finished the upload of a package.',
  'transfer.verified': 'The recipient verified the received file, which completes the transfer.',
} as const

/** `noun.verb`, with the verb in the past tense. */
export type AuditKind = keyof typeof auditKinds

/** The kinds of one noun. */
export type AuditKindOf<Noun extends string> = Extract<AuditKind, `${Noun}.${string}`>
