/**
 * Converts the times at which rows were stored to steady time. A row holds wall time, and the wall clock may
 * have been set since. Ids only rise, so the id of a row shows which setting of the wall clock applied when
 * it was stored.
 *
 * The settings are in memory. For rows of earlier processes, the last setting that the database holds
 * applies, and their times are never later than the start of this process.
 *
 * Contract §5 "Lifetimes".
 */
import { firstIdAt } from './ids.ts'

/** Period in which the wall clock was not set. */
interface Setting {
  /** Rows of this period have greater ids. */
  readonly afterId: string
  /** Start of the period, in steady time. */
  readonly fromMs: number
  /** Wall time minus steady time. */
  readonly offsetMs: number
}

export interface RowTimes {
  /**
   * Applies the offset to rows that are stored from now on. Must be called before the first of them gets its
   * id.
   */
  follow(steadyMs: number, offsetMs: number): void
  /** Returns the steady time at which a row was stored. */
  steadyOf(id: string, wallIso: string): string
  /** Returns an id that is smaller than those of all rows stored later than this instant. */
  idBefore(steadyIso: string): string
}

/** Most settings that are remembered. If the clock is set more often, the oldest ones are dropped. */
const rememberedSettings = 32

/** `lastId` returns a bound that is not smaller than any id so far, and smaller than any later one. */
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
      if (settings.length > rememberedSettings) settings.splice(1, 1)
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
