/** The node: load of the hosts, room on its disk, its health, and the commands for its upkeep. */
import { useEffect, useMemo } from 'preact/hooks'
import { polled } from '../live/polled.ts'
import { hearClock } from '../node-clock.ts'
import { owner } from '../owner.ts'
import { Heading } from '../parts/heading.tsx'
import { OwnerOnly } from '../parts/owner-only.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { useSilence } from '../parts/silence.tsx'
import { span } from '../words/time.ts'
import { Commands } from './node/commands.tsx'
import { HealthFacts } from './node/health.tsx'
import { Hosts } from './node/hosts.tsx'
import { Nodes } from './node/nodes.tsx'
import { Storage } from './node/storage.tsx'

export function Node() {
  return (
    <OwnerOnly title="Node">
      <Heading title="Node">Node</Heading>
      <Load />
      <HealthFacts />
      <Commands />
    </OwnerOnly>
  )
}

const everyMs = 5000

function Load() {
  const telemetry = useMemo(
    () =>
      polled(async (signal) => {
        const list = await owner.telemetry.list({ signal })
        hearClock(list.observed_at)
        return list
      }, everyMs),
    [],
  )
  useEffect(() => telemetry.stop, [])
  const ageMs = telemetry.ageMs.value
  const list = telemetry.value.value
  const isSilent = useSilence(list === undefined ? undefined : ageMs)
  if (list === undefined) return <Refusal error={telemetry.error.value} />
  return (
    <>
      <p class="silence" hidden={!isSilent}>
        {isSilent && `Nothing heard from the node for ${span(ageMs)}. Trying again.`}
      </p>
      <Nodes list={list} ageMs={ageMs} />
      <Hosts list={list} ageMs={ageMs} />
      <Storage storage={list.storage} ageMs={ageMs} />
    </>
  )
}
