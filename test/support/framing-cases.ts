/** Bytes that no HTTP client would send, for a node and for proxies in front of it. */
export const head = 'Host: bridge.test\r\nConnection: close\r\n'
export const get = (lines = '', target = '/api/health', version = 'HTTP/1.1') =>
  `GET ${target} ${version}\r\n${head}${lines}\r\n`
export const post = (lines: string, body = '') =>
  `POST /api/v1/enrollments/claim HTTP/1.1\r\n${head}Content-Type: application/json\r\n${lines}\r\n${body}`
export const smuggled = 'GET /api/ready HTTP/1.1\r\nHost: bridge.test\r\n\r\n'

/** Refused by the parser: one status line, no second response, the connection closed. */
export const unparsable: Record<string, string | Buffer> = {
  'a length and chunks': post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${smuggled}`),
  'chunks and a length': post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', `0\r\n\r\n${smuggled}`),
  'two lengths that differ': post('Content-Length: 2\r\nContent-Length: 3\r\n', '{} '),
  'two lengths that agree': post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'),
  'a list of lengths': post('Content-Length: 2, 2\r\n', '{}'),
  'a length with a plus': post('Content-Length: +2\r\n', '{}'),
  'a negative length': post('Content-Length: -2\r\n', '{}'),
  'a length in hexadecimal': post('Content-Length: 0x2\r\n', '{}'),
  'a length of two words': post('Content-Length: 2 2\r\n', '{}'),
  'a length beyond 64 bits': post('Content-Length: 18446744073709551616\r\n', '{}'),
  'chunks that are not last': post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'),
  'the encoding identity': post('Transfer-Encoding: identity\r\n', '{}'),
  'an unknown encoding': post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'),
  'chunks twice': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  'a space before the colon': post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n'),
  'a folded encoding': post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'),
  'a hexadecimal chunk size with 0x': post('Transfer-Encoding: chunked\r\n', '0x2\r\n{}\r\n0\r\n\r\n'),
  'a chunk size with a sign': post('Transfer-Encoding: chunked\r\n', '+2\r\n{}\r\n0\r\n\r\n'),
  'a chunk without its end': post('Transfer-Encoding: chunked\r\n', '2\r\n{}0\r\n\r\n'),
  'a line feed alone in a chunk': post('Transfer-Encoding: chunked\r\n', '2\n{}\r\n0\r\n\r\n'),
  'line feeds alone': get().replaceAll('\r\n', '\n'),
  'a carriage return alone': get('A: b\rC: d\r\n'),
  'a NUL in a header': get('A: b\0c\r\n'),
  'a space in a header name': get('A b: c\r\n'),
  'a header without a name': get(': c\r\n'),
  'a line before the headers': `GET /api/health HTTP/1.1\r\n X: y\r\n${head}\r\n`,
  'a folded header': get('A: b\r\n c\r\n'),
  'tabs between the words': get().replace('GET /api/health HTTP', 'GET\t/api/health\tHTTP'),
  'bytes beyond ASCII in the target': get('', '/api/héalth'),
  'a space in the target': get('', '/api/health x'),
  'a method in lower case': get().replace('GET', 'get'),
  'an unknown method': get().replace('GET', 'FETCH'),
  'HTTP/1.2': get('', '/api/health', 'HTTP/1.2'),
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a TLS hello': Buffer.from('16030100710100006d0303', 'hex'),
  'no protocol at all': 'hello\r\n\r\n',
}

/** Refused or served by the application. */
export const parsable: Record<string, readonly [bytes: string, ...told: string[]]> = {
  'HTTP/2 by name': [get('', '/api/health', 'HTTP/2.0'), '422 invalid_request'],
  'HTTP/1.0': [get('', '/api/openapi', 'HTTP/1.0'), '422 invalid_request'],
  'a health check over HTTP/1.0': [get('', '/api/health', 'HTTP/1.0'), '200 done'],
  'chunks over HTTP/1.0': [
    post('Transfer-Encoding: chunked\r\n', '0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0'),
    '422 invalid_request',
  ],
  'two Hosts': [get('Host: elsewhere.example\r\n'), '422 invalid_request'],
  'two Content-Types': [
    post('Content-Type: text/plain\r\nContent-Length: 2\r\n', '{}'),
    '422 invalid_request',
  ],
  'two Expects': [get('Expect: 100-continue\r\nExpect: 100-continue\r\n'), '422 invalid_request'],
  'more than 64 headers': [get('A: b\r\n'.repeat(63)), '422 invalid_request'],
  '64 headers': [get('A: b\r\n'.repeat(62)), '200 done'],
  '1,500 headers': [get('A:b\r\n'.repeat(1500)), '422 invalid_request'],
  'a GET with a body': [get('Content-Length: 2\r\n').concat('{}'), '422 invalid_request'],
  'a GET with chunks': [
    get('Transfer-Encoding: chunked\r\n').concat('2\r\n{}\r\n0\r\n\r\n'),
    '422 invalid_request',
  ],
  'a GET with length 0': [get('Content-Length: 0\r\n'), '200 done'],
  'a whole URL as target': [get('', 'http://bridge.test/api/health'), '404 not_found'],
  'a fragment': [get('', '/api/health#top'), '404 not_found'],
  'a target without a slash': [get('', 'api/health'), '400'],
  'OPTIONS of everything': [get('', '*').replace('GET', 'OPTIONS'), '404 not_found'],
  'a path out of the root': [get('', '/../api/health'), '404 not_found'],
  'a path out of the root, encoded': [get('', '/%2e%2e/api/health'), '404 not_found'],
  'a NUL in the path, encoded': [get('', '/api/health%00'), '404 not_found'],
  'a backslash': [get('', '/api\\health'), '404 not_found'],
  'an upgrade that the server does not offer': [get('Upgrade: websocket\r\n'), '200 done'],
  'an upgrade to HTTP/2': [get('Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'), '200 done'],
  'no Host': ['GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n', '422 invalid_request'],
  'an unknown expectation': [
    post('Expect: everything\r\nContent-Length: 2\r\n', '{}'),
    '422 invalid_request',
  ],
  'an expectation beside the known one': [
    post('Expect: 100-continue, everything\r\nContent-Length: 2\r\n', '{}'),
    '422 invalid_request',
  ],
  'a range': [get('Range: bytes=0-1\r\n'), '200 done'],
  'a compressed body': [post('Content-Encoding: gzip\r\nContent-Length: 2\r\n', '{}'), '422 invalid_request'],
  'chunks with extensions': [
    post('Transfer-Encoding: chunked\r\n', '2;a=b\r\n{}\r\n0\r\n\r\n'),
    '422 invalid_request',
  ],
  'a length in the trailer': [
    post(
      'Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n',
      '2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n',
    ),
    '400',
  ],
}

/** Each entry is at most one request. */
export const framingCases: Readonly<Record<string, string | Buffer>> = {
  ...unparsable,
  ...Object.fromEntries(Object.entries(parsable).map(([name, [bytes]]) => [name, bytes])),
}
