/** Request ids: 72 random bits, as 12 characters. Drawn many at a time, since asking the system costs more than they do. */

const idBytes = 9
const idLength = 12
const drawnAtOnce = 512

export function requestIds(random: (bytes: number) => Buffer): () => string {
  let drawn = ''
  let used = 0
  return () => {
    if (used === drawn.length) {
      drawn = random(idBytes * drawnAtOnce).toString('base64url')
      used = 0
    }
    used += idLength
    return drawn.slice(used - idLength, used)
  }
}
