/** Decoding of host names in their ASCII form (RFC 3492), which `URL` can only encode. */

const base = 36
const ascii = /^[\0-\x7f]*$/

/** Returns the host with every label `xn--…` in its own letters. A label that is malformed stays as it is. */
export const decodedHost = (host: string): string => host.split('.').map(decodedLabel).join('.')

function decodedLabel(label: string): string {
  if (!/^xn--/i.test(label)) return label
  try {
    return decode(label.slice(4).toLowerCase()) || label
  } catch {
    return label
  }
}

/** @throws RangeError if the text is malformed. */
function decode(text: string): string {
  const border = text.lastIndexOf('-')
  const points = Array.from(text.slice(0, Math.max(0, border)), (letter) => letter.charCodeAt(0))
  if (!ascii.test(text)) throw new RangeError('not ASCII')
  let [at, point, index, bias] = [border + 1, 128, 0, 72]
  while (at < text.length) {
    const before = index
    for (let [weight, step] = [1, base]; ; step += base) {
      const digit = digitOf(text[at++])
      index += digit * weight
      const threshold = Math.min(26, Math.max(1, step - bias))
      if (digit < threshold) break
      weight *= base - threshold
      if (!Number.isSafeInteger(weight)) throw new RangeError('too large')
    }
    const length = points.length + 1
    bias = adapted(index - before, length, before === 0)
    point += Math.floor(index / length)
    index %= length
    points.splice(index++, 0, point)
  }
  return String.fromCodePoint(...points)
}

function digitOf(letter = ''): number {
  const at = 'abcdefghijklmnopqrstuvwxyz0123456789'.indexOf(letter)
  if (letter === '' || at === -1) throw new RangeError('not a digit')
  return at
}

function adapted(change: number, length: number, isFirst: boolean): number {
  let rest = Math.floor(isFirst ? change / 700 : change / 2)
  rest += Math.floor(rest / length)
  let bias = 0
  for (; rest > 455; bias += base) rest = Math.floor(rest / 35)
  return bias + Math.floor((36 * rest) / (rest + 38))
}
