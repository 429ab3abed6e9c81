/** Owner set-up, sign-in, sessions, password and sign-out. Contract §10 "Sign-in". */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import {
  Empty,
  IdParams,
  Name,
  NewName,
  named,
  PageQuery,
  pageOf,
  ref,
  Strict,
  Text,
  Timestamp,
  Uuid,
} from '../primitives.ts'

const Token = Type.String({ minLength: 16, maxLength: 128, pattern: '^[A-Za-z0-9_-]+$' })
/** Existing password: any length from 1, because it may predate the current rule. */
const Password = Text(4 * limits.password.max, 1)
/** New password. Lengths count code points, as JSON Schema does. */
const NewPassword = Type.String({
  minLength: limits.password.min,
  maxLength: limits.password.max,
  'x-well-formed': true,
})

export const SetupInput = named('SetupInput', Strict({ token: Token, name: NewName, password: NewPassword }))
export type SetupInput = Static<typeof SetupInput>

/** Sign-in with name and password, or with the token of a one-time link from `bridge server owner-link`. */
export const SignInInput = named(
  'SignInInput',
  Type.Union([Strict({ name: Name, password: Password }), Strict({ link_token: Token })]),
)
export type SignInInput = Static<typeof SignInInput>

export const PasswordInput = named('PasswordInput', Strict({ password: Password }))
export type PasswordInput = Static<typeof PasswordInput>

export const PasswordChangeInput = named('PasswordChangeInput', Strict({ new_password: NewPassword }))
export type PasswordChangeInput = Static<typeof PasswordChangeInput>

export const OwnerUser = named(
  'OwnerUser',
  Type.Object({
    id: Uuid,
    name: Name,
    role: Type.Union([Type.Literal('owner'), Type.Literal('administrator')]),
  }),
)
export type OwnerUser = Static<typeof OwnerUser>

export const OwnerSession = named(
  'OwnerSession',
  Type.Object({
    id: Uuid,
    user: ref(OwnerUser),
    created_at: Timestamp,
    last_used_at: Timestamp,
    expires_at: Timestamp,
    fresh_until: Timestamp,
    user_agent: Type.String(),
    current: Type.Boolean(),
  }),
)
export type OwnerSession = Static<typeof OwnerSession>

export const OwnerSessionList = named('OwnerSessionList', pageOf('sessions', OwnerSession))
export const OwnerSessionEnded = named('OwnerSessionEnded', Type.Object({ id: Uuid, ended_at: Timestamp }))
export type OwnerSessionEnded = Static<typeof OwnerSessionEnded>

export const signIn = {
  setup: endpoint({
    id: 'owner.signIn.setup',
    cookie: true,
    method: 'POST',
    path: '/api/admin/setup',
    caller: 'owner-signing-in',
    summary: 'Create the owner with the one-time set-up token, and sign in.',
    body: SetupInput,
    response: OwnerSession,
    errors: ['sign_in_failed', 'setup_done'],
  }),
  start: endpoint({
    id: 'owner.signIn.start',
    cookie: true,
    method: 'POST',
    path: '/api/admin/session',
    caller: 'owner-signing-in',
    summary: 'Sign in with a name and password, or with a one-time link.',
    body: SignInInput,
    response: OwnerSession,
    errors: ['sign_in_failed'],
  }),
  current: endpoint({
    id: 'owner.signIn.current',
    method: 'GET',
    path: '/api/admin/session',
    caller: 'owner',
    summary: 'Read who is signed in.',
    response: OwnerSession,
    errors: [],
  }),
  close: endpoint({
    id: 'owner.signIn.close',
    cookie: true,
    method: 'POST',
    path: '/api/admin/session/close',
    caller: 'owner',
    summary: 'Sign out.',
    body: Empty,
    response: OwnerSessionEnded,
    errors: [],
  }),
  confirm: endpoint({
    id: 'owner.signIn.confirm',
    cookie: true,
    method: 'POST',
    path: '/api/admin/session/confirm',
    caller: 'owner',
    summary:
      'Confirm the password. Dangerous actions are then allowed for ten minutes. The answer sets a new cookie.',
    body: PasswordInput,
    response: OwnerSession,
    errors: ['sign_in_failed', 'rate_limited'],
  }),
  password: endpoint({
    id: 'owner.signIn.password',
    cookie: true,
    method: 'POST',
    path: '/api/admin/session/password',
    caller: 'owner',
    fresh: true,
    summary: 'Change the password. Every session ends.',
    body: PasswordChangeInput,
    response: OwnerSessionEnded,
    errors: [],
  }),
  list: endpoint({
    id: 'owner.signIn.list',
    method: 'GET',
    path: '/api/admin/sessions',
    caller: 'owner',
    summary: "List the caller's own sessions.",
    query: PageQuery,
    response: OwnerSessionList,
    errors: [],
  }),
  revoke: endpoint({
    id: 'owner.signIn.revoke',
    method: 'POST',
    path: '/api/admin/sessions/{id}/revoke',
    caller: 'owner',
    summary: "End one of the caller's own sessions.",
    params: IdParams,
    body: Empty,
    response: OwnerSessionEnded,
    errors: ['not_found'],
  }),
}
