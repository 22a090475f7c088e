/** Proof that this instance leads. Whoever holds it stops when `signal` aborts. */
export interface Leadership {
  /** The fencing token: grows with every term of the service, over restarts and replicas. */
  readonly epoch: number
  /** Aborts the moment leadership is lost or given up. */
  readonly signal: AbortSignal
  /** Answers without waiting, against the monotonic deadline. The last question before anything is changed. */
  isHeld(): boolean
}

export interface LeaderStatus {
  readonly state: 'STANDBY' | 'CAMPAIGNING' | 'LEADER'
  readonly leader_id: string | null
  readonly term: number | null
  readonly since: string | null
}

/** One seat per service name. Local and etcd adapters pass one conformance suite. */
export interface Election {
  readonly instanceId: string
  /**
   * Waits for the seat. Never resolves with a leadership that is already lost; null when `signal` aborts first.
   * Once won, the seat is kept until it is lost or resigned, also after `signal` aborted: work in flight may finish.
   */
  campaign(signal: AbortSignal): Promise<Leadership | null>
  /** Gives the seat up at once; afterwards this instance stays away for a cool-off unless `forGood`. */
  resign(options?: { forGood?: boolean }): Promise<void>
  status(): LeaderStatus
}
