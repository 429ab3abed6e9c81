/** The findings of `bridge server doctor` on a PostgreSQL database. */
import type { Config } from '../config.ts'
import { requireKnown } from '../database/migration-history.ts'
import { migrations } from '../database/migrations/index.ts'
import { shownUrl } from '../database/moved.ts'
import type { Examination } from '../database/postgres/examine.ts'
import { witnessPath } from '../storage/data-folder.ts'
import { isEnvelopeKey, requireSameKey } from '../storage/envelope-keys.ts'
import { type Examined, ok, place } from './findings.ts'

type DoctorSettings = Pick<Config, 'data' | 'envelopeKeyFile'> & Partial<Pick<Config, 'databaseListen'>>

export async function examineDatabase(
  url: string,
  { data, envelopeKeyFile, databaseListen }: DoctorSettings,
): Promise<Examined[]> {
  const { DamagedPagesError, examinePostgres } = await import('../database/postgres/examine.ts')
  try {
    const found = await examinePostgres(url, witnessPath(data), databaseListen?.url)
    const moved = place(found.moved, shownUrl(url))
    const key = sameKey(found, envelopeKeyFile)
    const state = [schema(found), history(found), durability(found), peers(found)]
    return [...key, database(found), pages(found), ...moved, ...state]
  } catch (error) {
    if (error instanceof DamagedPagesError) return [damaged(error.message)]
    const text = (error as Error).message
    const remedy = 'check database, its password and that PostgreSQL runs'
    return [{ check: 'database', state: 'problem', text, remedy, exit: 'unexpected' }]
  }
}

function database({ faults, version }: Examination): Examined {
  if (faults.length === 0) return ok('database', `PostgreSQL ${version}`)
  const remedy = 'use PostgreSQL 14 or newer with durable commits, and a database in UTF8 with READ COMMITTED'
  return { check: 'database', state: 'problem', text: faults.join('; '), remedy, exit: 'unexpected' }
}

function pages({ pages: { areChecked, damaged: count, lastAt } }: Examination): Examined {
  if (count > 0) return damaged(`PostgreSQL found damaged pages ${count} times, last at ${lastAt}`)
  if (areChecked) return ok('pages', 'PostgreSQL has found no damaged page')
  return {
    check: 'pages',
    state: 'warning',
    text: 'without checksums, PostgreSQL does not notice most damaged pages',
    remedy: 'pg_checksums --enable while PostgreSQL is stopped, or initdb --data-checksums',
  }
}

const damaged = (text: string): Examined => ({
  ...{ check: 'pages', state: 'problem', text, exit: 'integrity' },
  remedy:
    'fail over to a standby, or restore a backup and run bridge server restored; REINDEX repairs an index. Replace the disk',
})

function schema({ migrations: done, hasInstallation }: Examination): Examined {
  try {
    requireKnown(migrations, done)
  } catch (error) {
    const remedy = 'use the version of the program that made this database, or a newer one'
    return { check: 'schema', state: 'problem', text: (error as Error).message, remedy, exit: 'conflict' }
  }
  if (!hasInstallation) {
    const remedy = 'bridge server init creates an installation'
    return {
      ...{ check: 'schema', state: 'problem', text: 'the database holds no installation' },
      ...{ remedy, exit: 'not_found' },
    }
  }
  const pending = migrations.length - done.length
  return ok(
    'schema',
    pending === 0 ? `at migration ${done.length}` : `${pending} migrations run at the next start`,
  )
}

/** A missing or unusable key is a finding about the host. */
function sameKey({ keyCheck }: Examination, path: string): Examined[] {
  if (!isEnvelopeKey(path)) return []
  try {
    requireSameKey(path, keyCheck)
    return []
  } catch (error) {
    const text = (error as Error).message
    const remedy = 'restore it from a copy, or make a new one: bridge server rotate-key --lost'
    return [{ check: 'key', state: 'problem', text, remedy, exit: 'conflict' }]
  }
}

function history({ forgotten }: Examination): Examined {
  if (forgotten === undefined) return ok('history', 'holds everything that it confirmed to this node')
  const remedy = 'bridge server restored accepts the database as it is'
  return { check: 'history', state: 'problem', text: forgotten, remedy, exit: 'conflict' }
}

function durability({ isSynchronous }: Examination): Examined {
  if (isSynchronous) return ok('durability', 'commits wait for a synchronous standby')
  return {
    check: 'durability',
    state: 'warning',
    text: 'no synchronous standby: a failover may lose confirmed writes',
    remedy: 'set synchronous_standby_names, or use a service that promises it, before you rely on a failover',
  }
}

function peers({ hears }: Examination): Examined {
  if (hears) return ok('peers', 'notifications between nodes arrive')
  return {
    check: 'peers',
    state: 'warning',
    text: 'notifications between nodes do not arrive: each node asks the database every 250 ms',
    remedy: 'set database_listen_url to a direct way to the same database, without a pooler of transactions',
  }
}
