/**
 * Questions with which a node finds out what other nodes have committed. Each is one statement, whatever the
 * number of waits.
 */
export interface Changes {
  /** Returns a mark for each project. A commit that stores a record in the project changes it. */
  marksOf(projectIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /**
   * Returns the newest message of each agent that no session was offered. Ids of a project rise in the order of
   * commits, so a greater id is a newer message.
   */
  newestFor(agentIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Returns the newest record of each project about its state, its pairings or a released task. */
  rightsOf(projectIds: readonly string[]): Promise<ReadonlyMap<string, string>>
}
