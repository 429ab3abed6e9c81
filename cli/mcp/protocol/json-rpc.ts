/** JSON-RPC 2.0 as the Model Context Protocol uses it: one message per line, no batches, ids never null. */

export type RequestId = string | number
export type Params = Readonly<Record<string, unknown>>

export interface Request {
  readonly id: RequestId
  readonly method: string
  readonly params: Params
}

export type Notification = Omit<Request, 'id'>

export const errorCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  unsupportedProtocolVersion: -32022,
} as const

/** Refusal of a request. Its message says what to change. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown
  /** Id of the refused request, if it could be read. */
  readonly id: RequestId | undefined

  constructor(
    code: keyof typeof errorCodes,
    message: string,
    { data, id }: { readonly data?: unknown; readonly id?: RequestId | undefined } = {},
  ) {
    super(message)
    this.code = errorCodes[code]
    this.data = data
    this.id = id
  }
}

/**
 * Parses one line. Returns undefined for a response, because this server sends no requests.
 *
 * @throws RpcError
 */
export function parseMessage(line: string): Request | Notification | undefined {
  let message: unknown
  try {
    message = JSON.parse(line)
  } catch {
    throw new RpcError('parseError', 'Parse error: the line is not JSON')
  }
  if (!isObject(message))
    throw new RpcError('invalidRequest', 'a message is one JSON object; batches are refused')
  const { jsonrpc, id, method, params = {} } = message
  const known = isId(id) ? id : undefined
  if (jsonrpc !== '2.0') throw new RpcError('invalidRequest', '"jsonrpc" must be "2.0"', { id: known })
  if (method === undefined && ('result' in message || 'error' in message)) return undefined
  if (typeof method !== 'string')
    throw new RpcError('invalidRequest', '"method" must be a string', { id: known })
  if ('id' in message && known === undefined)
    throw new RpcError('invalidRequest', '"id" must be a string or an integer')
  if (!isObject(params)) throw new RpcError('invalidParams', '"params" must be an object', { id: known })
  return known === undefined ? { method, params } : { id: known, method, params }
}

export const isRequest = (message: Request | Notification): message is Request => 'id' in message

export const isObject = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isId = (value: unknown): value is RequestId =>
  typeof value === 'string' || Number.isSafeInteger(value)

/** Returns the response that carries the error. Without a readable id it has none. */
export const errorResponse = ({ code, message, data, id }: RpcError) => ({
  jsonrpc: '2.0',
  ...(id === undefined ? {} : { id }),
  error: { code, message, ...(data === undefined ? {} : { data }) },
})
