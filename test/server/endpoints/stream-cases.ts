/** Refusals of the event stream and the socket. For their data see `test/server/delivery`. */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { limits } from '../../../sdk/contract/limits.ts'
import { exchange } from '../../support/http.ts'
import { openEvents } from '../../support/streams.ts'
import type { SomeCases } from './case.ts'

/** The number of unauthenticated sockets that one address may have open. */
const strangers = limits.strangerSocketsPerAddress

const upgrade = (url: string, origin: string) =>
  exchange(url, {
    method: 'GET',
    target: '/api/v1/socket',
    headers: [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'websocket'],
      ['Sec-WebSocket-Version', '13'],
      ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
      ['Origin', origin],
    ],
  })

export const streamCases: SomeCases<'streams.events' | 'streams.socket'> = {
  'streams.events': {
    refusals: {
      wait_limit: async (world) => {
        const by = await world.agent()
        const open = [openEvents(by), openEvents(by)]
        await Promise.all(open.map(({ opened }) => opened))
        return { by }
      },
      capacity_reached: async (world) => {
        const { bridge } = await world.elsewhere({ settings: { max_waits: '1' } })
        await openEvents(bridge.ada).opened
        return { by: bridge.ben }
      },
    },
  },
  'streams.socket': {
    refusals: {
      origin_mismatch: (world) => upgrade(world.bridge.url, 'https://evil.example'),
      capacity_reached: async (world) => {
        const { url } = (await world.elsewhere()).bridge
        const address = `${url.replace('http', 'ws')}/api/v1/socket`
        await Promise.all(Array.from({ length: strangers }, () => once(new WebSocket(address), 'open')))
        return upgrade(url, url)
      },
    },
  },
}
