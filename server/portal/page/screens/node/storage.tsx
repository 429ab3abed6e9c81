/** Room on the disk of the node. */
import { connectionLabels, limits, type NodeStorage } from '../../../../../sdk/browser.ts'
import { Mark } from '../../parts/marks.tsx'
import { percent, size } from '../../words/size.ts'
import { Gauge } from './hosts.tsx'

interface Props {
  readonly storage: NodeStorage
  /** Milliseconds since the answer. */
  readonly ageMs: number
}

export function Storage({ storage, ageMs }: Props) {
  const { state, free_bytes, total_bytes, database_bytes, reserve_bytes } = storage
  const used = total_bytes === 0 ? 0 : 1 - free_bytes / total_bytes
  return (
    <section aria-labelledby="storage">
      <h2 id="storage">Storage</h2>
      {ageMs > limits.snapshotStaleSeconds * 1000 ? (
        <p>
          <Mark name="unavailable" /> {connectionLabels.unavailable}
        </p>
      ) : (
        <>
          {state === 'full' ? (
            <p class="fault">
              <Mark name="alert" /> Full: the node refuses new data until there is room.
            </p>
          ) : (
            <p>
              <Mark name="acknowledged" /> Open: the node takes new data.
            </p>
          )}
          <Gauge
            label="Disk"
            share={used}
            words={`${percent(used)} used, ${size(free_bytes)} of ${size(total_bytes)} free`}
          />
          <dl class="facts">
            <dt>Database</dt>
            <dd>{database_bytes === 0 ? 'on PostgreSQL, not on this disk' : size(database_bytes)}</dd>
            <dt>Reserve</dt>
            <dd>
              {reserve_bytes === 0
                ? 'none: switched off, or released because the disk was full'
                : `${size(reserve_bytes)}, released when the disk is full, so that reading and deleting go on`}
            </dd>
          </dl>
        </>
      )}
    </section>
  )
}
