/** Makes each node of a database lead, as after a pause in which the lease of one expired. */
import { vi } from 'vitest'
import { onDatabase } from '../../support/postgres.ts'

/** Every lease is over when it is written, so each node that asks for it gets it. `led` lists them. */
const leaseForAll = `
  CREATE TABLE led (holder text PRIMARY KEY);
  CREATE FUNCTION lease_for_all() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO led VALUES (NEW.holder) ON CONFLICT DO NOTHING;
    NEW.until := clock_timestamp() - interval '1 s';
    RETURN NEW;
  END $$;
  CREATE TRIGGER lease_for_all BEFORE INSERT OR UPDATE ON leases FOR EACH ROW EXECUTE FUNCTION lease_for_all();
  UPDATE leases SET until = clock_timestamp() - interval '1 s'; DELETE FROM led`

/** From now on each node leads. */
export const leaseToAll = (data: string): Promise<void> =>
  onDatabase(data, async (client) => void (await client.query(leaseForAll)))

/** Waits until this many nodes have led since the last call. */
export async function untilLed(data: string, count: number): Promise<void> {
  const led = async () =>
    onDatabase(data, async (client) => (await client.query('SELECT holder FROM led')).rowCount)
  await vi.waitFor(
    async () => {
      if ((await led()) !== count) throw new Error(`other than ${count} nodes have led`)
    },
    { timeout: 60_000, interval: 50 },
  )
  await onDatabase(data, (client) => client.query('DELETE FROM led'))
}
