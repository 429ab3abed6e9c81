/** The protocols of models that we script: Anthropic's Messages, OpenAI's Responses and Gemini's generateContent. */
import type { ServerResponse } from 'node:http'
import { generateContent } from './generate-content.ts'
import { listOf, type ModelProtocol, type Offered, sendJson } from './protocol.ts'

export function protocolOf(url: string): ModelProtocol | undefined {
  const [path = ''] = url.split('?')
  if (path.endsWith('/messages')) return messagesProtocol
  if (path.endsWith('/responses')) return responsesProtocol
  if (path.endsWith(':streamGenerateContent')) return generateContent({ isStream: true })
  return path.endsWith(':generateContent') ? generateContent({ isStream: false }) : undefined
}

let count = 0
const nextId = (prefix: string): string => {
  count += 1
  return `${prefix}_${count}`
}

/** Claude Code and opencode. */
const messagesProtocol: ModelProtocol = {
  tools: ({ tools }) => listOf<Offered>(tools).map(({ name = '' }) => name),
  // A request with one tool asks for a structured answer, such as a title.
  isConversation: ({ length }) => length > 1,
  messages: ({ messages }) => listOf(messages),
  shells: {
    Bash: (command) => ({ command, description: 'scripted' }),
    bash: (command) => ({ command, description: 'scripted' }),
  },
  answer(response, { model, stream }, answer) {
    const isCall = 'tool' in answer
    const id = nextId('toolu')
    const content = isCall
      ? { type: 'tool_use', id, name: answer.tool, input: answer.input }
      : { type: 'text', text: answer.text }
    const message = {
      ...{ id: nextId('msg'), type: 'message', role: 'assistant', model },
      ...{ content: [content], stop_reason: isCall ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      },
    }
    if (stream !== true) return sendJson(response, message)
    const start = isCall ? { ...content, input: {} } : { type: 'text', text: '' }
    const delta = isCall
      ? { type: 'input_json_delta', partial_json: JSON.stringify(answer.input) }
      : { type: 'text_delta', text: answer.text }
    sendEvents(response, [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: start },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: message.stop_reason, stop_sequence: null },
        usage: { output_tokens: 5 },
      },
      { type: 'message_stop' },
    ])
  },
}

/** Codex. */
const responsesProtocol: ModelProtocol = {
  tools: ({ tools }) =>
    listOf<Offered>(tools).flatMap(({ name, type = '', tools: inner }) =>
      inner === undefined ? [name ?? type] : inner.map((each) => `${name}/${each.name}`),
    ),
  isConversation: ({ length }) => length > 0,
  messages: ({ input }) => listOf(input),
  shells: {
    shell_command: (command) => ({ command }),
    exec_command: (cmd) => ({ cmd }),
    shell: (command) => ({ command: ['bash', '-lc', command] }),
  },
  answer(response, _body, answer) {
    const id = nextId('resp')
    const usage = {
      ...{ input_tokens: 10, input_tokens_details: { cached_tokens: 0 } },
      ...{ output_tokens: 5, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 15 },
    }
    const item = 'tool' in answer ? functionCall(answer) : outputText(answer.text)
    sendEvents(response, [
      { type: 'response.created', response: { id, status: 'in_progress' } },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id, status: 'completed', usage } },
    ])
  },
}

function functionCall({ tool, input }: { readonly tool: string; readonly input: object }): object {
  const [namespace, name] = tool.includes('/') ? tool.split('/') : [undefined, tool]
  return {
    ...{ type: 'function_call', id: nextId('fc'), call_id: nextId('call'), name },
    ...(namespace !== undefined && { namespace }),
    arguments: JSON.stringify(input),
  }
}

const outputText = (text: string): object => ({
  ...{ type: 'message', id: nextId('msg'), role: 'assistant' },
  content: [{ type: 'output_text', text, annotations: [] }],
})

type ModelEvent = { readonly type: string } & Readonly<Record<string, unknown>>

/** Sends the events with the name of each as its type. */
function sendEvents(response: ServerResponse, events: readonly ModelEvent[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  response.end()
}
