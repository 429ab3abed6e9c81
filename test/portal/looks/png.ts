/**
 * PNG files, as far as pictures of the page need them: reading what Chromium writes, and writing a picture with
 * few colours.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib'

export interface Picture {
  readonly width: number
  readonly height: number
  /** Red, green and blue of each pixel, row by row. */
  readonly rgb: Buffer
}

const signature = Buffer.from('89504e470d0a1a0a', 'hex')
const channelsOf: Readonly<Record<number, number>> = { 2: 3, 3: 1, 6: 4 }

/** Reads a PNG of 8 bits a channel: RGB, RGBA or a palette. */
export function readPng(file: Buffer): Picture {
  const chunks = chunksOf(file)
  const header = chunks.find(([type]) => type === 'IHDR')?.[1] ?? Buffer.alloc(13)
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const channels = channelsOf[header[9] ?? 0]
  if (header[8] !== 8 || channels === undefined || header[12] !== 0) throw new Error('not a PNG of 8 bits')
  const data = inflateSync(
    Buffer.concat(chunks.filter(([type]) => type === 'IDAT').map(([, bytes]) => bytes)),
  )
  unfilter(data, width * channels, channels)
  const palette = chunks.find(([type]) => type === 'PLTE')?.[1]
  const rgb = Buffer.alloc(width * height * 3)
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    const from = pixel * channels + Math.floor(pixel / width) + 1
    const start = palette === undefined ? from : (data[from] ?? 0) * 3
    const source = palette ?? data
    for (let channel = 0; channel < 3; channel += 1) rgb[pixel * 3 + channel] = source[start + channel] ?? 0
  }
  return { width, height, rgb }
}

function chunksOf(file: Buffer): [type: string, bytes: Buffer][] {
  const chunks: [string, Buffer][] = []
  for (let at = signature.length; at < file.length; ) {
    const size = file.readUInt32BE(at)
    chunks.push([file.toString('latin1', at + 4, at + 8), file.subarray(at + 8, at + 8 + size)])
    at += 12 + size
  }
  return chunks
}

/** Replaces the filtered bytes of each row by its bytes. */
function unfilter(data: Buffer, rowBytes: number, step: number): void {
  const row = rowBytes + 1
  for (let start = 0; start < data.length; start += row) {
    const filter = data[start] ?? 0
    if (filter === 0) continue
    for (let at = start + 1; at < start + row; at += 1) {
      const left = at - step > start ? (data[at - step] ?? 0) : 0
      const above = start > 0 ? (data[at - row] ?? 0) : 0
      const corner = start > 0 && at - step > start ? (data[at - row - step] ?? 0) : 0
      data[at] = ((data[at] ?? 0) + predicted(filter, left, above, corner)) & 255
    }
  }
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return above
  if (filter === 3) return (left + above) >> 1
  const byLeft = Math.abs(above - corner)
  const byAbove = Math.abs(left - corner)
  const byCorner = Math.abs(left + above - 2 * corner)
  if (byLeft <= byAbove && byLeft <= byCorner) return left
  return byAbove <= byCorner ? above : corner
}

/** A colour as one number. */
export const colourAt = (rgb: Buffer, pixel: number): number =>
  ((rgb[pixel * 3] ?? 0) << 16) | ((rgb[pixel * 3 + 1] ?? 0) << 8) | (rgb[pixel * 3 + 2] ?? 0)

/** Colours that are kept however alike they are. */
const grounds = 8
/** Difference of colours that need no separate place in a palette. */
const alike = 16

/** Writes a picture with its `most` most frequent colours. Each other colour becomes the nearest of these. */
export function writePng({ width, height, rgb }: Picture, most = 32): Buffer {
  const { palette, indexOf } = paletteOf(rgb, most)
  const rows = Buffer.alloc((width + 1) * height)
  for (let pixel = 0; pixel < width * height; pixel += 1)
    rows[pixel + Math.floor(pixel / width) + 1] = indexOf(colourAt(rgb, pixel))
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3], 8)
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', palette),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function paletteOf(rgb: Buffer, most: number) {
  const counts = new Map<number, number>()
  for (let pixel = 0; pixel < rgb.length / 3; pixel += 1) {
    const colour = colourAt(rgb, pixel)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  // The most frequent colours are grounds. After them, a rare colour, such as that of a mark, has its place before one
  // more shade of a frequent one.
  const colours: number[] = []
  for (const [colour] of [...counts].toSorted(([, one], [, other]) => other - one)) {
    if (colours.length === most) break
    if (colours.length < grounds || colours.every((each) => distance(each, colour) > alike))
      colours.push(colour)
  }
  const palette = Buffer.alloc(colours.length * 3)
  for (const [index, colour] of colours.entries()) palette.writeUIntBE(colour, index * 3, 3)
  const known = new Map<number, number>()
  const indexOf = (colour: number): number => {
    let index = known.get(colour)
    if (index === undefined) {
      const distances = colours.map((each) => distance(each, colour))
      index = distances.indexOf(Math.min(...distances))
      known.set(colour, index)
    }
    return index
  }
  return { palette, indexOf }
}

/** The greatest difference of two colours in a channel. */
export const distance = (one: number, other: number): number =>
  Math.max(
    Math.abs((one >> 16) - (other >> 16)),
    Math.abs(((one >> 8) & 255) - ((other >> 8) & 255)),
    Math.abs((one & 255) - (other & 255)),
  )

function chunk(type: string, bytes: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), bytes])
  const [size, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  size.writeUInt32BE(bytes.length)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([size, body, check])
}
