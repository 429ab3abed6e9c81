/**
 * When rows were stored, in steady time. A row holds wall time, which may have been set since. Its id never goes back, so
 * the id tells by which setting of the wall clock the row was stored.
 *
 * The settings are in memory. Rows of earlier processes count by the last setting that the store knows, and never as
 * stored after this process began.
 *
 * Contract §5 "Lifetimes".
 */
import { firstIdAt } from './ids.ts'

/** The wall clock as it was set for a while. */
interface Setting {
  /** Rows that were stored by it have greater ids. */
  readonly afterId: string
  /** When it began, in steady time. */
  readonly fromMs: number
  /** Wall time less steady time. */
  readonly offsetMs: number
}

export interface RowTimes {
  /** Rows that are stored from now on have this offset. Called before the first of them gets its id. */
  follow(steadyMs: number, offsetMs: number): void
  /** When a row was stored. */
  steadyOf(id: string, wallIso: string): string
  /** Rows that are stored later than this instant have greater ids. */
  idBefore(steadyIso: string): string
}

/** A clock that is set more often is followed less far back. */
const followed = 32

/** `lastId` is not smaller than any id so far, and smaller than any later one. */
export function createRowTimes(lastId: () => string, earlierOffsetMs: number): RowTimes {
  const settings: [Setting, ...Setting[]] = [
    { afterId: '', fromMs: Number.NEGATIVE_INFINITY, offsetMs: earlierOffsetMs },
  ]
  const find = (fits: (setting: Setting) => boolean): readonly [Setting, Setting | undefined] => {
    for (let index = settings.length - 1; index > 0; index -= 1) {
      const setting = settings[index]
      if (setting !== undefined && fits(setting)) return [setting, settings[index + 1]]
    }
    return [settings[0], settings[1]]
  }
  return {
    follow(steadyMs, offsetMs) {
      if (settings.length > 1 && settings.at(-1)?.offsetMs === offsetMs) return
      settings.push({ afterId: lastId(), fromMs: steadyMs, offsetMs })
      if (settings.length > followed) settings.splice(1, 1)
    },
    steadyOf(id, wallIso) {
      const [setting, next] = find(({ afterId }) => id > afterId)
      const ms = Math.max(setting.fromMs, Date.parse(wallIso) - setting.offsetMs)
      return new Date(Math.min(ms, next?.fromMs ?? ms)).toISOString()
    },
    idBefore(steadyIso) {
      const ms = Date.parse(steadyIso)
      const [{ afterId, offsetMs }, next] = find(({ fromMs }) => ms >= fromMs)
      const id = firstIdAt(new Date(ms + offsetMs))
      const after = id > afterId ? id : afterId
      return next !== undefined && next.afterId < after ? next.afterId : after
    },
  }
}
