/** The owner's client in tests: signed in, resumed, and with a `fetch` that records its requests. */
import { onTestFinished } from 'vitest'
import { type Fetch, type FetchInit, type KeptSignIn, Owner, pooledFetch } from '../../sdk/program.ts'
import type { TestBridge } from '../support/bridge.ts'
import { ownerName, ownerPassword } from '../support/owner.ts'

export async function signIn({ url: baseUrl }: TestBridge, fetch?: Fetch): Promise<Owner> {
  const credentials = { baseUrl, name: ownerName, password: ownerPassword }
  const owner = await Owner.signIn({ ...credentials, fetch })
  onTestFinished(() => owner.close())
  return owner
}

export const kept = (owner: Owner): KeptSignIn => {
  const found = owner.keep()
  if (found === undefined) throw new Error('the owner is not signed in')
  return found
}

export function resume(from: KeptSignIn, fetch?: Fetch): Owner {
  const owner = Owner.resume(from, { fetch })
  onTestFinished(() => owner.close())
  return owner
}

/** A `fetch` that records its requests. */
export function recording() {
  const pool = pooledFetch()
  onTestFinished(() => pool.close())
  const sent: { url: string; init: FetchInit }[] = []
  const fetch: Fetch = (url, init) => {
    sent.push({ url, init })
    return pool.fetch(url, init)
  }
  return { sent, fetch }
}

export const refusal = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => {
      throw new Error('it was not refused')
    },
    (error: Error) => error,
  )
