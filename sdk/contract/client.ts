/** The client package that a node hands out, so that an agent needs no registry. Contract §11. */
import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { named, Strict } from './primitives.ts'

export const ClientPackage = named(
  'ClientPackage',
  Type.Object({
    version: Type.String(),
    file: Type.String({ description: 'Name of the file. Another content has another name.' }),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    size: Type.Integer({ minimum: 1, description: 'Bytes.' }),
    node: Type.String({ description: 'The oldest version of Node that runs it.' }),
  }),
)
export type ClientPackage = Static<typeof ClientPackage>

export const client = {
  get: endpoint({
    id: 'client.get',
    method: 'GET',
    path: '/client',
    caller: 'public',
    summary: 'Describe the client package that this node hands out.',
    response: ClientPackage,
    errors: ['rate_limited'],
  }),
  download: endpoint({
    id: 'client.download',
    method: 'GET',
    path: '/client/{file}',
    caller: 'public',
    bytes: 'response',
    summary: 'Download the client package, which `npm install` and `tar` take.',
    params: Strict({ file: Type.String() }),
    response: Type.Unknown(),
    errors: ['rate_limited'],
  }),
}
