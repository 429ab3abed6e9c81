/**
 * Bands over every screen: the page is paused, the disk of the node is full, or its object store is silent.
 */
import { useEffect } from 'preact/hooks'
import { isIdle } from '../live/attendance.ts'
import { isPackageStoreSilent, isStorageFull, watchStorage } from '../live/storage.ts'

export function Bands() {
  useEffect(watchStorage, [])
  return (
    <div class="bands" role="status">
      {isIdle.value && (
        <p class="silence">
          Paused: nothing was touched for an hour.{' '}
          {/* Any touch resumes. The button is for who looks for one. */}
          <button type="button" class="quiet">
            Resume
          </button>
        </p>
      )}
      {isStorageFull.value && (
        <p class="refusal">
          <strong>The disk of the node is full.</strong> It refuses new messages, tasks and transfers, and
          stores nothing of them. Reading, acknowledging, signing in, ending sign-ins and credentials, and
          deleting projects still work. Free space on the disk of the node: it then goes on by itself.
        </p>
      )}
      {isPackageStoreSilent.value && (
        <p class="refusal">
          <strong>The object store of packages does not answer.</strong> No package is sent or received.
          Messages, tasks and direct transfers still work. On the node, <code>bridge server doctor</code> says
          why.
        </p>
      )}
    </div>
  )
}
