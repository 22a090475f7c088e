import { type HostedService, runToItsEnd } from './hosted-service.ts'
import { linkedAbort } from './linked-abort.ts'

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

/**
 * Runs `service` only while this instance leads; stands by otherwise. On a clean stop the seat is kept until the
 * service has finished, and given up then. A service that fails gives it up too, so that another instance may try.
 */
export function leaderElected<S extends HostedService>(service: S, election: Election): S {
  return { ...service, run: (signal: AbortSignal) => leadAgainAndAgain(service, election, signal) }
}

async function leadAgainAndAgain(service: HostedService, election: Election, signal: AbortSignal): Promise<void> {
  try {
    while (!signal.aborted) {
      const leadership = await election.campaign(signal)
      if (leadership === null) return
      await leadOnce(service, leadership, signal)
    }
  } finally {
    await election.resign({ forGood: true })
  }
}

async function leadOnce(service: HostedService, leadership: Leadership, signal: AbortSignal): Promise<void> {
  const term = linkedAbort(signal, leadership.signal)
  try {
    await runToItsEnd(service, term.signal, leadership)
  } finally {
    term.unlink()
  }
}
