/** Reads the XML of an object store: a list of objects, and the code of an error. */

export interface ListedObject {
  readonly key: string
  /** Milliseconds by the store's clock. */
  readonly changedAt: number
}

export interface Listed {
  readonly objects: readonly ListedObject[]
  /** Token of the next page. */
  readonly next: string | undefined
}

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
  '&amp;': '&',
}

function textOf(xml: string, tag: string): string | undefined {
  const found = new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1]
  return found?.replace(/&(?:lt|gt|quot|apos|amp);/g, (entity) => entities[entity] ?? '')
}

/** The code of an error, such as `NoSuchKey`. Empty if there is none. */
export const codeOf = (xml: string): string => {
  const code = textOf(xml, 'Code') ?? ''
  return /^[A-Za-z0-9]{1,64}$/.test(code) ? code : ''
}

export function listedIn(xml: string): Listed {
  const objects = [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, each = '']) => ({
    key: textOf(each, 'Key') ?? '',
    changedAt: Date.parse(textOf(each, 'LastModified') ?? ''),
  }))
  const isTruncated = textOf(xml, 'IsTruncated') === 'true'
  return { objects, next: isTruncated ? textOf(xml, 'NextContinuationToken') : undefined }
}
