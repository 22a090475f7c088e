/** What owners did to their labs on CML servers, by lab id. */
export interface OwnerChanges {
  /** Labs that their owner stopped and did not start again. */
  readonly stops: Map<string, OwnerStop>
  /** When the owner last started the lab or one of its nodes. */
  readonly startedMs: Map<string, number>
}

export interface OwnerStop {
  readonly atMs: number
  /** Whether it is certain that LCM must leave the lab stopped: it ran, and its owner has not requested another start since. */
  readonly isKnown: boolean
}

export const ownerChanges = (): OwnerChanges => ({ stops: new Map(), startedMs: new Map() })
