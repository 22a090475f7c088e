/** Proof that this instance leads. Its holder stops when `signal` aborts. */
export interface Leadership {
  /** The fencing token: grows with every term of the service, over restarts and replicas. */
  readonly epoch: number
  /** Aborts the moment leadership is lost or resigned. */
  readonly signal: AbortSignal
  /** Synchronous check against the monotonic deadline. Call it last before any change. */
  isHeld(): boolean
}

export interface LeaderStatus {
  readonly state: 'STANDBY' | 'CAMPAIGNING' | 'LEADER'
  readonly leader_id: string | null
  readonly term: number | null
  readonly since: string | null
}

/** One leader per service name. Local and etcd adapters pass one conformance suite. */
export interface Election {
  readonly instanceId: string
  /**
   * Waits for leadership. Never resolves with a leadership that is already lost; null when `signal` aborts first.
   * Leadership is held until it is lost or resigned, even after `signal` aborts, so that active work can finish.
   */
  campaign(signal: AbortSignal): Promise<Leadership | null>
  /** Resigns at once; afterwards this instance stays away for a cool-off unless `forGood`. */
  resign(options?: { forGood?: boolean }): Promise<void>
  status(): LeaderStatus
}
