/** Generates the table of the node's metrics from their registry. */
import { createMeters } from '../../server/metrics/registry.ts'
import { code, codes, table } from './markdown.ts'

/**
 * Table of the node's own metrics. The library's metrics of the Node process differ between systems, so the
 * page lists them by hand.
 */
export const metricsSection = (): string =>
  table(
    ['metric', 'kind', 'labels', 'meaning'],
    createMeters()
      .described()
      .filter(({ name }) => name.startsWith('bridge_'))
      .map(({ name, type, labels, help }) => [code(name), type, codes(labels), help]),
  )
