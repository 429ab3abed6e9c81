/**
 * A request's raw bytes, split as an HTTP/1.1 server does: sufficient for the vectors, and strict about
 * everything else.
 */

export interface RawRequest {
  readonly method: string
  readonly target: string
  /** Alternating names and values, in Node's format. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

export function parseRawRequest(bytes: Buffer): RawRequest {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) throw new Error('the head does not end')
  const [requestLine = '', ...headerLines] = bytes.toString('latin1', 0, end).split('\r\n')
  const [, method, target] = /^([A-Z]+) (\S+) HTTP\/1\.1$/.exec(requestLine) ?? []
  if (method === undefined || target === undefined) throw new Error(`no request line: ${requestLine}`)
  const rawHeaders = headerLines.flatMap(parseHeader)
  return { method, target, rawHeaders, body: bodyOf(bytes.subarray(end + 4), rawHeaders) }
}

function parseHeader(line: string): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? []
  if (name === undefined || value === undefined) throw new Error(`no header: ${line}`)
  return [name, value]
}

function bodyOf(rest: Buffer, rawHeaders: readonly string[]): Buffer {
  if (headerValue(rawHeaders, 'transfer-encoding') === 'chunked') return joinChunks(rest)
  const length = Number(headerValue(rawHeaders, 'content-length') ?? 0)
  if (length !== rest.length) throw new Error(`the body has ${rest.length} bytes, not ${length}`)
  return rest
}

function headerValue(rawHeaders: readonly string[], name: string): string | undefined {
  const at = rawHeaders.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name)
  return at < 0 ? undefined : rawHeaders[at + 1]
}

function joinChunks(rest: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let start = 0; ; ) {
    const lineEnd = rest.indexOf('\r\n', start)
    const size = Number.parseInt(rest.toString('latin1', start, lineEnd), 16)
    if (lineEnd < 0 || Number.isNaN(size)) throw new Error('a chunk has no size')
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(rest.subarray(lineEnd + 2, lineEnd + 2 + size))
    start = lineEnd + 2 + size + 2
  }
}
