/** Gemini's `generateContent` and `streamGenerateContent`: Gemini CLI. */
import { listOf, type ModelProtocol, type Offered, sendJson } from './protocol.ts'

interface Declared {
  readonly functionDeclarations?: readonly Offered[]
}

export const generateContent = ({ isStream }: { readonly isStream: boolean }): ModelProtocol => ({
  tools: ({ tools }) =>
    listOf<Declared>(tools).flatMap(({ functionDeclarations = [] }) =>
      functionDeclarations.map(({ name = '' }) => name),
    ),
  isConversation: ({ length }) => length > 0,
  messages: ({ contents }) => listOf(contents),
  shells: { run_shell_command: (command) => ({ command, description: 'scripted' }) },
  answer(response, _body, answer) {
    const part =
      'tool' in answer ? { functionCall: { name: answer.tool, args: answer.input } } : { text: answer.text }
    const value = {
      candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    }
    if (!isStream) return sendJson(response, value)
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    response.end(`data: ${JSON.stringify(value)}\n\n`)
  },
})
