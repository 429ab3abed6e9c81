import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route, stream } from '../route.ts'
import { openEventStream } from './event-stream.ts'
import { longPoll } from './long-poll.ts'
import { waitingList } from './waiting-list.ts'

export function inboxRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.inbox.read, (call) => longPoll(context, call))
  route(app, context, contract.inbox.list, (call) => waitingList(context, call))
  stream(app, context, contract.streams.events, (call) => openEventStream(context, call))
}
