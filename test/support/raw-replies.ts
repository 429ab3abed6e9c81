/** Parses HTTP answers from the bytes of a connection; a string has one character per byte (latin1). */

export interface RawReply {
  readonly status: number
  /** The headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly bytes: Buffer
  /** The error code of a JSON refusal. */
  readonly error: string | undefined
}

interface Head {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/** Returns every answer in order, including interim ones (1xx). The last one may be incomplete. */
export function repliesIn(text: string): RawReply[] {
  const replies: RawReply[] = []
  for (let rest = text; rest !== ''; ) {
    const split = rest.indexOf('\r\n\r\n')
    if (split < 0) throw new Error(`no response: ${JSON.stringify(rest.slice(0, 200))}`)
    const head = headIn(rest.slice(0, split))
    const [content, left] = contentOf(head, rest.slice(split + 4))
    const bytes = Buffer.from(content, 'latin1')
    const body = bytes.toString('utf8')
    replies.push({ ...head, body, bytes, error: errorIn(head.status, body) })
    rest = left
  }
  return replies
}

/**
 * Returns the number of bytes after which this many final answers are complete, as far as the text shows it.
 */
export function wantedBytes(text: string, count: number): number {
  let at = 0
  for (let found = 0; found < count; ) {
    const end = text.indexOf('\r\n\r\n', at) + 4
    if (end < 4) return text.length + 1
    const { status, headers } = headIn(text.slice(at, end))
    at = end + (status < 200 ? 0 : Number(headers['content-length'] ?? Number.POSITIVE_INFINITY))
    if (at > text.length) return at
    if (status >= 200) found += 1
  }
  return at
}

function headIn(text: string): Head {
  const [line = '', ...fields] = text.split('\r\n')
  const headers = fields.map((field) => {
    const colon = field.indexOf(':')
    return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()] as const
  })
  return { status: Number(line.split(' ')[1]), headers: Object.fromEntries(headers) }
}

/**
 * Splits an answer's content from the text after it: by its length, by its chunks, or up to the end of the
 * connection.
 */
function contentOf({ status, headers }: Head, text: string): [content: string, rest: string] {
  if (headers['transfer-encoding'] === 'chunked') return chunksIn(text)
  if (status < 200 || status === 204 || status === 304) return ['', text]
  const length = Number(headers['content-length'] ?? text.length)
  return [text.slice(0, length), text.slice(length)]
}

function chunksIn(text: string): [content: string, rest: string] {
  let content = ''
  for (let at = 0; ; ) {
    const start = text.indexOf('\r\n', at) + 2
    const size = start < 2 ? Number.NaN : Number.parseInt(text.slice(at, start), 16)
    if (Number.isNaN(size)) return [content, '']
    if (size === 0) return [content, text.slice(start + 2)]
    content += text.slice(start, start + size)
    at = start + size + 2
  }
}

function errorIn(status: number, body: string): string | undefined {
  if (status < 400 || !body.startsWith('{')) return undefined
  return (JSON.parse(body) as { error?: string }).error
}
