/** The first frame of a socket. Contract §6. */

import { Compile } from 'typebox/compile'
import { AuthenticateFrame } from '../../sdk/contract/agent/events.ts'
import { ApiError } from '../api-error.ts'

const check = Compile(AuthenticateFrame)

/** Returns the headers that the frame carries. @throws unauthenticated for any other frame */
export function readFrame(frame: unknown): Readonly<Record<string, string>> {
  if (check.Check(frame)) return frame.headers
  throw new ApiError('unauthenticated', {
    message: 'The first frame must be {"type":"authenticate","headers":{…}}.',
  })
}
