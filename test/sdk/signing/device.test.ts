import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeDevice, parseDevice } from '../../../sdk/signing/device.ts'

const device = { os: 'linux', machine: 'f7a7266d', install: 'c7b1f8c2-6a5d-4a0e-9c3e-1f2d3c4b5a69' }

test('a device is encoded in one order and parsed back', () => {
  const text = '{"os":"linux","machine":"f7a7266d","install":"c7b1f8c2-6a5d-4a0e-9c3e-1f2d3c4b5a69"}'
  expect(encodeDevice(device)).toBe(text)
  expect(parseDevice(text)).toEqual(device)
})

test('an encoded device is parsed to the same values, with quotes and backslashes', () => {
  const name = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(fc.record({ os: name, machine: name, install: name }), (any) => {
      expect(parseDevice(encodeDevice(any))).toEqual(any)
    }),
  )
})

test('order and spaces of the sender are accepted', () => {
  expect(parseDevice('{ "install":"i" , "os":"o", "machine" : "m" }')).toEqual({
    os: 'o',
    machine: 'm',
    install: 'i',
  })
})

test.each([
  ['not JSON', 'linux'],
  ['empty', ''],
  ['null', 'null'],
  ['an array', '["linux","m","i"]'],
  ['a key missing', '{"os":"o","machine":"m"}'],
  ['a fourth key', '{"os":"o","machine":"m","install":"i","name":"n"}'],
  ['another key in place of one', '{"os":"o","machine":"m","name":"n"}'],
  ['a key twice', '{"os":"o","os":"o","machine":"m","install":"i"}'],
  ['a key twice, once escaped', '{"os":"o","\\u006fs":"o","machine":"m","install":"i"}'],
  ['a key twice, first with a number', '{"os":1,"os":"o","machine":"m","install":"i"}'],
  ['a key twice, first with an object', '{"os":{},"os":"o","machine":"m","install":"i"}'],
  ['the prototype as a key', '{"os":"o","machine":"m","install":"i","__proto__":"n"}'],
  ['a number', '{"os":1,"machine":"m","install":"i"}'],
  ['an empty value', '{"os":"o","machine":"","install":"i"}'],
  ['a letter beyond ASCII', '{"os":"ö","machine":"m","install":"i"}'],
  ['an escaped letter beyond ASCII', '{"os":"\\u00f6","machine":"m","install":"i"}'],
  ['an escaped control character', '{"os":"\\u001b","machine":"m","install":"i"}'],
  ['a line break between the keys', '{"os":"o",\n"machine":"m","install":"i"}'],
])('%s is refused', (_name, text) => {
  expect(parseDevice(text)).toBeUndefined()
})

test('a device of 300 characters is accepted and one of 301 is refused', () => {
  const os = 'x'.repeat(300 - encodeDevice(device).length + device.os.length)
  expect(encodeDevice({ ...device, os })).toHaveLength(300)
  expect(() => encodeDevice({ ...device, os: `${os}x` })).toThrow(TypeError)
})

test('a device that would be refused is not encoded', () => {
  for (const os of ['', 'línux', '\u001b[2J', 'a\nb']) {
    expect(() => encodeDevice({ ...device, os })).toThrow(TypeError)
  }
})
