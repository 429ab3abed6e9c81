/**
 * The waits of this browser: at most three requests of all tabs wait for events of the node, each of another project.
 *
 * A browser opens six connections to the node. With a wait for each of seven projects, no tab could load anything.
 */
const most = 3

/** Runs `act` with one of the waits until it ends. Returns false at once if other tabs have all of them. */
export async function withWait(act: () => Promise<void>): Promise<boolean> {
  for (let number = 1; number <= most; number += 1) {
    const isFree = await navigator.locks.request(
      `bridge-wait-${number}`,
      { ifAvailable: true },
      async (lock) => {
        if (lock !== null) await act()
        return lock !== null
      },
    )
    if (isFree) return true
  }
  return false
}
