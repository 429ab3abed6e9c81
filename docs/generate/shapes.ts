/**
 * Generated sections of docs/protocol.md: the fields of the main resources, and the endpoints that need an
 * Idempotency-Key.
 */
import { Message } from '../../sdk/contract/agent/messages.ts'
import { Session } from '../../sdk/contract/agent/sessions.ts'
import { Evidence, Task, TaskInput } from '../../sdk/contract/agent/tasks.ts'
import { Transfer } from '../../sdk/contract/agent/transfers.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { headingOf } from './api.ts'
import { code, linkedSentence, table } from './markdown.ts'
import { describe } from './schemas.ts'

const fields = (schema: Parameters<typeof describe>[0]) => () => describe(schema, 'api.md')

export const shapeSections: Readonly<Record<string, () => string>> = {
  'session-fields': fields(Session),
  'message-fields': fields(Message),
  'task-input-fields': fields(TaskInput),
  'task-fields': fields(Task),
  'evidence-fields': fields(Evidence),
  'transfer-fields': fields(Transfer),
  'keyed-endpoints': () =>
    table(
      ['endpoint', 'purpose'],
      endpoints
        .filter(({ idempotent }) => idempotent === true)
        .map((entry) => [code(headingOf(entry)), linkedSentence(entry.summary, 'api.md', headingOf(entry))]),
    ),
}
