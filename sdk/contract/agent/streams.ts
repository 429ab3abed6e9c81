/** Event stream and WebSocket: the node pushes inbox messages and receipts. Spec §6; contract §6. */
import { endpoint } from '../endpoint.ts'
import { ClientFrame, ServerFrame, StreamEvent } from './events.ts'

export const streams = {
  events: endpoint({
    id: 'streams.events',
    method: 'GET',
    path: '/api/v1/events',
    caller: 'agent',
    stream: 'events',
    summary: 'Stream of server-sent events, at most 20 seconds long: messages, receipts, heartbeat, session.',
    response: StreamEvent,
    errors: ['wait_limit', 'capacity_reached'],
  }),
  socket: endpoint({
    id: 'streams.socket',
    method: 'GET',
    path: '/api/v1/socket',
    caller: 'public',
    stream: 'socket',
    summary:
      'WebSocket upgrade. The first frame authenticates with the signed headers of GET /api/v1/events.',
    frame: ClientFrame,
    response: ServerFrame,
    errors: ['origin_mismatch', 'capacity_reached'],
  }),
}
