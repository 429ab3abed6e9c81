/**
 * A secret outside of what is drawn.
 *
 * Closures, elements and earlier drawings can stay in memory after their screen is gone. They hold the place of the
 * secret only, and the secret leaves its place when its field goes away.
 */
import { useRef } from 'preact/hooks'

export interface Secret {
  current: string
}

export const secretOf = (text: string): Secret => ({ current: text })

/** Returns the place of a secret that somebody types. */
export const useSecret = (): Secret => useRef('')
