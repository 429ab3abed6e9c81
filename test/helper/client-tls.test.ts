/** The client verifies the certificate of a helper behind a tunnel. Spec §5. */
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { downloadFile } from '../../sdk/transfers/wire/download.ts'
import { helperEndpoint } from '../../sdk/transfers/wire/endpoint.ts'
import { certificateChain } from '../support/certificates.ts'
import { manifestOf, Place } from './files.ts'

test('the client refuses a certificate of an unknown authority before it sends the token', async () => {
  const { cert, key } = await (await certificateChain()).server()
  let asked = 0
  const server = createServer({ cert, key }, (_request, response) => {
    asked += 1
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const place = new Place()
  onTestFinished(() => {
    server.close()
    place.remove()
  })
  const endpoint = `https://localhost:${(server.address() as AddressInfo).port}`
  const home = helperEndpoint({ endpoint, token: 'A'.repeat(43) })
  const fetched = downloadFile(home, manifestOf(Buffer.from('a file'), { mode: 'download' }), place.folder, {
    sleep: async () => {},
  })
  await expect(fetched).rejects.toThrow(/certificate/)
  expect(asked).toBe(0)
})
