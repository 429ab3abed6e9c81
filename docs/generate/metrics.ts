/** Every metric of the node's own, read from the registry that keeps them. */
import { createMeters } from '../../server/metrics/registry.ts'
import { code, codes, table } from './markdown.ts'

/** What the library tells of any Node program differs between systems, and is told in the page's own words. */
export const metricsSection = (): string =>
  table(
    ['metric', 'kind', 'labels', 'meaning'],
    createMeters()
      .described()
      .filter(({ name }) => name.startsWith('bridge_'))
      .map(({ name, type, labels, help }) => [code(name), type, codes(labels), help]),
  )
