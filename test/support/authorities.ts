/**
 * The certificate authorities that this process trusts. Test files share a process, so these functions
 * restore the previous ones.
 */
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll } from 'vitest'

/** Trusts only this authority, from here to the end of the enclosing `describe` or file. */
export const trustOnly = (authority: string): void => trust(() => [authority])

/**
 * Trusts this authority in addition to the default ones, from here to the end of the enclosing `describe` or
 * file.
 */
export const trustAlso = (authority: () => string): void => trust((usual) => [...usual, authority()])

function trust(choose: (usual: readonly string[]) => readonly string[]): void {
  let usual: readonly string[] | undefined
  beforeAll(() => {
    const before = getCACertificates('default')
    setDefaultCACertificates(choose(before))
    usual = before
  })
  afterAll(() => {
    if (usual) setDefaultCACertificates(usual)
  })
}
