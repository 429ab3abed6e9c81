/** Body of every JSON error. Contract §1. */
import { type Static, Type } from 'typebox'
import { type ErrorCode, errors } from './errors.ts'
import { named } from './primitives.ts'

export const ErrorBody = named(
  'Error',
  Type.Object({
    error: Type.Unsafe<ErrorCode>({ type: 'string', enum: Object.keys(errors) }),
    message: Type.String(),
    request_id: Type.String(),
    retry_after_ms: Type.Optional(Type.Integer({ minimum: 0 })),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
)
export type ErrorBody = Static<typeof ErrorBody>
