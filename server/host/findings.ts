/** Findings of an examination of an installation. */
export interface Examined {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'problem'
  readonly text: string
  readonly remedy?: string
  readonly exit?: 'usage' | 'not_found' | 'integrity' | 'conflict' | 'unexpected'
}

export const ok = (check: string, text: string): Examined => ({ check, state: 'ok', text })
