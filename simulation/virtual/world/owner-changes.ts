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
  /** Its nodes shut themselves down, which leaves no event: a controller that was away can't tell it from a restart. */
  readonly isFromInside: boolean
}

export const ownerChanges = (): OwnerChanges => ({ stops: new Map(), startedMs: new Map() })
