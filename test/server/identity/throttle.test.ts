/** Failed authentications are counted per IPv4 address or per IPv6 network of /64. */
import { expect, test } from 'vitest'
import { networkOf } from '../../../server/identity/network.ts'
import { createThrottle } from '../../../server/identity/throttle.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['1:2:3::', '1:2:3:0::/64'],
  ['', ''],
])('the address %s is counted as %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test('a client that changes its address within its network stays counted, and the next network is not', () => {
  const throttle = createThrottle(() => 0, {
    ratePerSecond: 1,
    rateBurst: 1,
    publicPerSecond: 1,
    publicBurst: 2,
    failedAuthPerMinute: 3,
  })
  for (let host = 1; host <= 3; host += 1) throttle.countFailure('proof', `2001:db8:1:2::${host}`)
  expect(() => throttle.countFailure('proof', '2001:db8:1:2:ffff::4')).toThrow(/Too many failed/)
  expect(() => throttle.countFailure('proof', '2001:db8:1:3::1')).not.toThrow()
})
