/**
 * Request ids: 72 random bits as 12 characters. 512 are generated at a time, because the call into the system
 * costs more than the bytes.
 */

const idBytes = 9
const idLength = 12
const idsPerDraw = 512

export function requestIds(random: (bytes: number) => Buffer): () => string {
  let drawn = ''
  let used = 0
  return () => {
    if (used === drawn.length) {
      drawn = random(idBytes * idsPerDraw).toString('base64url')
      used = 0
    }
    used += idLength
    return drawn.slice(used - idLength, used)
  }
}
