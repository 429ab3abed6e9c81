/**
 * Encryption with age (https://age-encryption.org), in its standard format, for one recipient key.
 *
 * - Only X25519 keys are supported. The library is loaded on first use.
 * - Files are streamed, with 64 KiB in memory at a time. If decryption fails, no output file remains.
 * - Text is encrypted into age's ASCII armour, so that it can be sent as a message.
 *
 * Contract §9 "Recipient key", §12.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { storageFailed } from './storage/durable-file.ts'
import { LocalError } from './transport/failures.ts'

/** X25519 key pair of age: `secret` decrypts what was encrypted for `recipient`. */
export interface AgeKey {
  /** Private key, `AGE-SECRET-KEY-1…`. It never leaves its machine. */
  readonly secret: string
  /** Public key, `age1…`. */
  readonly recipient: string
}

/** Generates an X25519 key pair. */
export async function newAgeKey(): Promise<AgeKey> {
  const { generateX25519Identity } = await import('age-encryption')
  return ageKeyOf(await generateX25519Identity())
}

/**
 * Reads the key from the text of an age identity file.
 *
 * @throws LocalError `key_missing` if it holds no key, or several
 */
export async function ageKeyOf(text: string): Promise<AgeKey> {
  const found = text.match(/^AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}$/gm) ?? []
  const [secret] = found
  if (secret === undefined || found.length > 1)
    throw new LocalError(
      'key_missing',
      'this is no age identity: it needs exactly one line AGE-SECRET-KEY-1…',
    )
  const { identityToRecipient } = await import('age-encryption')
  try {
    return { secret, recipient: await identityToRecipient(secret) }
  } catch (cause) {
    throw new LocalError('key_missing', 'the age identity is damaged: its checksum is wrong', { cause })
  }
}

/** Returns the text of an identity file, as age-keygen writes it. */
export const identityFileOf = ({ secret, recipient }: AgeKey): string =>
  `# public key: ${recipient}\n${secret}\n`

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined
  /** Called with the number of source bytes that were read. */
  readonly onBytes?: ((count: number) => void) | undefined
}

/** Encrypts a file into a new, durable file with mode 0600. @throws LocalError `storage_failed`, `aborted` */
export async function sealFile(
  source: string,
  target: string,
  recipient: string,
  options: StreamOptions = {},
): Promise<void> {
  const encrypter = await encrypterFor(recipient)
  await throughFile(source, target, (plain) => encrypter.encrypt(plain), options)
}

/**
 * Decrypts a file into a new one.
 *
 * @throws LocalError `key_missing` if it was encrypted for another key, `integrity` if it is damaged
 */
export async function openSealedFile(
  source: string,
  target: string,
  secret: string,
  options: StreamOptions = {},
): Promise<void> {
  const decrypter = await decrypterFor(secret)
  await throughFile(source, target, (sealed) => decrypter.decrypt(sealed), options)
}

/** Encrypts text into ASCII armour. */
export async function sealText(text: string, recipient: string): Promise<string> {
  const { armor } = await import('age-encryption')
  return armor.encode(await (await encrypterFor(recipient)).encrypt(text))
}

/** Decrypts text from {@link sealText}. @throws LocalError `key_missing`, `integrity` */
export async function openSealedText(sealed: string, secret: string): Promise<string> {
  const { armor } = await import('age-encryption')
  const decrypter = await decrypterFor(secret)
  try {
    return await decrypter.decrypt(armor.decode(sealed), 'text')
  } catch (error) {
    throw notOpened(error)
  }
}

async function encrypterFor(recipient: string) {
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  try {
    encrypter.addRecipient(recipient)
  } catch (cause) {
    throw new LocalError('key_missing', 'the registered key of the other side is no age recipient', { cause })
  }
  return encrypter
}

async function decrypterFor(secret: string) {
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  decrypter.addIdentity(secret)
  return decrypter
}

type Bytes = ReadableStream<Uint8Array>

async function throughFile(
  source: string,
  target: string,
  change: (bytes: Bytes) => Promise<Bytes>,
  { signal, onBytes }: StreamOptions,
): Promise<void> {
  const from = createReadStream(source, { highWaterMark: 256 * 1024 })
  try {
    const read = Readable.toWeb(from) as unknown as Bytes
    // This listener only counts; the web stream controls the flow.
    from.on('data', (block) => onBytes?.(block.length))
    const changed = await change(read)
    const into = createWriteStream(target, { flags: 'wx', mode: 0o600, flush: true })
    const bytes = Readable.fromWeb(changed as unknown as WebStream)
    await pipeline(bytes, into, signal === undefined ? {} : { signal })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(target, { force: true })
    if (signal?.aborted === true) throw new LocalError('aborted', 'given up by the caller', { cause: error })
    throw isOfPlatform(error) ? storageFailed(source, error) : notOpened(error)
  } finally {
    from.destroy()
  }
}

const isOfPlatform = (error: unknown): boolean =>
  typeof (error as NodeJS.ErrnoException | null)?.syscall === 'string'

function notOpened(cause: unknown): LocalError {
  const isForAnother = cause instanceof Error && /no identity matched/i.test(cause.message)
  return isForAnother
    ? new LocalError('key_missing', 'it is sealed to another key than the one of this profile', { cause })
    : new LocalError('integrity', 'what was sealed cannot be opened: it is damaged', { cause })
}
