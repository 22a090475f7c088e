import type { Election, Leadership } from './election.ts'
import { type HostedService, runToItsEnd } from './hosted-service.ts'
import { linkedAbort } from './linked-abort.ts'

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
