/** The certificate authority that `bridge enroll --ca` puts into a profile. Contract §4. */
import { readFile } from 'node:fs/promises'
import { CommandError } from '../exit-codes.ts'

/** Returns the certificates of the file in PEM, and nothing else that it holds. @throws CommandError */
export async function readAuthority(path: string): Promise<string> {
  const text = await readFile(path, 'latin1').catch((cause) => {
    throw new CommandError('usage', `--ca ${path} cannot be read (${cause.code ?? 'unknown error'})`, {
      cause,
    })
  })
  const pems = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const { X509Certificate } = await import('node:crypto')
  try {
    const found = pems.map((pem) => new X509Certificate(pem).toString())
    if (found.length > 0) return found.join('')
  } catch {
    // Reported below.
  }
  throw new CommandError('usage', `--ca ${path} holds no certificate in PEM`, {
    hint: 'the prompt of the owner has the certificate of the node, if it needs one',
  })
}
