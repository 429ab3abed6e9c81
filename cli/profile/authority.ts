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
  const found = await certificatesIn(text)
  if (found !== undefined) return found
  throw new CommandError('usage', `--ca ${path} holds no certificate in PEM`, {
    hint: 'the prompt of the owner has the certificate of the node, if it needs one',
  })
}

/** Returns the certificates of a text in PEM. Undefined if it has none, or one that cannot be read. */
export async function certificatesIn(text: string): Promise<string | undefined> {
  const pems = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const { X509Certificate } = await import('node:crypto')
  try {
    return pems.length === 0 ? undefined : pems.map((pem) => new X509Certificate(pem).toString()).join('')
  } catch {
    return undefined
  }
}
