/** Sizes in words. */

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** Returns three digits at most: `512 bytes`, `3.4 GiB`. */
export function size(bytes: number): string {
  let rest = bytes
  let unit = 0
  while (rest >= 1000 && unit < units.length - 1) {
    rest /= 1024
    unit += 1
  }
  const digits = unit === 0 || rest >= 99.95 ? 0 : rest >= 9.995 ? 1 : 2
  return `${Number(rest.toFixed(digits))} ${units[unit]}`
}

export const percent = (share: number): string => `${Math.round(share * 100)} %`
