/** Addresses, host names and blocks in the texts of agents. */
import { domainToASCII, domainToUnicode } from 'node:url'
import { describe, expect, test } from 'vitest'
import { addressesIn } from '../../../server/portal/page/text/addresses.ts'
import { blocksOf, cut } from '../../../server/portal/page/text/blocks.ts'
import { decodedHost } from '../../../server/portal/page/text/punycode.ts'

describe('addresses in a text', () => {
  test.each([
    ['See https://example.com/a.', 'https://example.com/a', 'example.com', undefined],
    ['(http://example.com)', 'http://example.com', 'example.com', undefined],
    ['https://google.com@evil.example/x', 'https://google.com@evil.example/x', 'evil.example', undefined],
    ['https://xn--pple-43d.com/', 'https://xn--pple-43d.com/', 'аpple.com', 'xn--pple-43d.com'],
    ['ssh://git@bücher.example:22/x', 'ssh://git@bücher.example:22/x', 'bücher.example', undefined],
    ['https://[::1]:8484/x', 'https://[::1]:8484/x', '[::1]', undefined],
  ])('%s', (text, written, host, ascii) => {
    const [found] = addressesIn(text)
    expect(found).toMatchObject({ text: written, host })
    if (ascii !== undefined) expect(found?.ascii).toBe(ascii)
  })

  test.each(['no address', 'javascript:alert(1)', 'https://', 'a:b', 'file:///etc/passwd'])(
    'not %s',
    (text) => {
      expect(addressesIn(text)).toEqual([])
    },
  )

  test('a bracket at the end is not of the address, one within is', () => {
    expect(addressesIn('(https://a.example/b_(c)_d).')[0]?.text).toBe('https://a.example/b_(c)_d')
  })

  test('a host that is longer than any real one is listed as it is written', () => {
    const label = `xn--${'a'.repeat(300)}`
    expect(addressesIn(`foo://${label}/`)).toEqual([
      { text: `foo://${label}/`, host: label, ascii: undefined },
    ])
  })

  test('each address is listed once', () => {
    expect(addressesIn('https://a.example https://b.example, https://a.example.')).toHaveLength(2)
  })
})

/** Texts of 64 KiB, each of which once took the page up to 10 seconds. */
const slow: readonly (readonly [name: string, text: string])[] = [
  ['brackets within an address', `https://a${')'.repeat(65_000)}x`],
  ['a label that is not one of a host', `foo://xn--${'ab9'.repeat(21_800)}`],
  ['thousands of labels', `foo://${'xn--b9.'.repeat(9_300)}`],
  ['thousands of dots', `https://${'a.'.repeat(32_700)}`],
  ['thousands of addresses', 'https://a/ '.repeat(5_900)],
  ['an address without an end', 'a://'.repeat(16_300)],
]

test.each(slow)('%s, 64 KiB of them, take no time', (_, text) => {
  const before = process.cpuUsage()
  for (let time = 0; time < 10; time += 1) addressesIn(text)
  // Linear work takes less than a tenth of it on the slowest machine. Quadratic work takes 10 times as much.
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000)
})

describe('host names', () => {
  test.each([
    'bücher.example',
    '日本語.jp',
    'ไทย.com',
    'münchen.de',
    '😀.example',
    'правда.рф',
    'a.b',
    'faß.de',
  ])('%s is decoded from its ASCII form as Node decodes it', (host) =>
    expect(decodedHost(domainToASCII(host))).toBe(domainToUnicode(domainToASCII(host))),
  )

  test.each(['xn--', 'xn--!', 'xn--99999999999', 'xn--é'])('%s is malformed and stays', (host) => {
    expect(decodedHost(host)).toBe(host)
  })
})

test('fences make blocks, and nothing else does', () => {
  expect(blocksOf(['a', '```ts', 'b', '<b>', '```', 'c'])).toEqual([
    { isCode: false, lines: ['a'] },
    { isCode: true, lines: ['b', '<b>'] },
    { isCode: false, lines: ['c'] },
  ])
  expect(blocksOf(['```', 'open']).at(-1)).toEqual({ isCode: true, lines: ['open'] })
})

test('a cut text has at most so many lines and characters, and no half character', () => {
  const most = { lines: 2, characters: 5 }
  expect(cut(['a', 'b', 'c'], most)).toEqual(['a', 'b'])
  expect(cut(['abc', 'defg'], most)).toEqual(['abc', 'd'])
  expect(cut(['abcd😀'], most)).toEqual(['abcd'])
})
