import type { FastifyInstance, FastifyReply } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { clearedCookie, sessionCookie } from '../identity/owner.ts'
import { route } from '../route.ts'
import * as actions from './actions.ts'

const { signIn } = contract.owner

export function ownerRoutes(app: FastifyInstance, context: Context): void {
  const withCookie = (reply: FastifyReply, { session, token }: actions.SignedIn) => {
    reply.header('set-cookie', sessionCookie(context.portalOrigin(), token))
    return session
  }
  const withoutCookie = <T>(reply: FastifyReply, ended: T): T => {
    reply.header('set-cookie', clearedCookie(context.portalOrigin()))
    return ended
  }
  route(app, context, signIn.setup, async ({ caller, body, reply }) =>
    withCookie(reply, await actions.setUpOwner(context, caller, body)),
  )
  route(app, context, signIn.start, async ({ caller, body, reply }) =>
    withCookie(reply, await actions.signIn(context, caller, body)),
  )
  route(app, context, signIn.current, ({ caller }) => actions.currentSession(context, caller))
  route(app, context, signIn.close, async ({ caller, reply }) =>
    withoutCookie(reply, await actions.endSession(context, caller, caller.session_id)),
  )
  route(app, context, signIn.confirm, async ({ caller, body, reply }) =>
    withCookie(reply, await actions.confirm(context, caller, body)),
  )
  route(app, context, signIn.password, async ({ caller, body, reply }) =>
    withoutCookie(reply, await actions.changePassword(context, caller, body)),
  )
  route(app, context, signIn.list, ({ caller, query }) => actions.listSessions(context, caller, query))
  route(app, context, signIn.revoke, ({ caller, params }) => actions.endSession(context, caller, params.id))
}
