/** Tells other nodes of the commits of this one, and the live views here of theirs. */
import type { Bus } from '../bus/bus.ts'
import { any, type CommitListeners } from '../database/commit-listeners.ts'
import { nodeLane } from '../database/lanes.ts'

/** After lost notices any project may have changed. */
export function shareCommits(bus: Pick<Bus, 'tell' | 'hear' | 'onGap'>, commits: CommitListeners): void {
  commits.onOwn((lane) => (lane === nodeLane ? bus.tell('sign_in', any) : bus.tell('commit', lane)))
  bus.hear('commit', commits.notifyOf)
  bus.hear('sign_in', commits.notifyOf)
  bus.onGap(() => commits.notifyOf(any))
}
