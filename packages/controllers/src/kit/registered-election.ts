import { type Client, isProblem } from '@lcm/client/client'
import type { ServiceName } from '@lcm/domain/actor'
import { type Election, type Leadership, type Logger, linkedAbort } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'

const RETRY_MS = 1_000

export interface RegisteredElection extends Election {
  /** The API has seen a higher epoch than this leader's. It stays so until an admin resets the term or a newer leader comes. */
  isEpochRegressed(): boolean
}

/**
 * Leadership counts only once the API knows of it: from then on it refuses every older leader. Until the term is registered
 * the campaign goes on, so nothing is decided by a leader whose writes would be refused.
 */
export function registeredElection(parts: {
  election: Election
  service: ServiceName
  client: Client
  clock: Clock
  logger: Logger
}): RegisteredElection {
  const { election, clock, logger } = parts
  let regressed = false

  async function register(leadership: Leadership, signal: AbortSignal): Promise<void> {
    const { service, client } = parts
    const body = { epoch: leadership.epoch, instance_id: election.instanceId }
    await client.call('registerTerm', { params: { service }, body, signal })
    regressed = false
  }

  async function registerWhileHeld(leadership: Leadership, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted && leadership.isHeld()) {
      try {
        await register(leadership, signal)
        return leadership.isHeld()
      } catch (err) {
        regressed = isProblem(err, 'stale_leader')
        if (!signal.aborted && leadership.isHeld())
          logger.error(
            { epoch: leadership.epoch, err },
            regressed ? 'epoch_regressed' : 'the term could not be registered',
          )
        await clock.sleep(RETRY_MS, signal)
      }
    }
    regressed = false
    return false
  }

  return {
    ...election,
    isEpochRegressed: () => regressed,
    async campaign(signal) {
      for (;;) {
        const leadership = await election.campaign(signal)
        if (leadership === null) return null
        const trying = linkedAbort(signal, leadership.signal)
        const isRegistered = await registerWhileHeld(leadership, trying.signal)
        trying.unlink()
        if (isRegistered) return leadership
        if (signal.aborted) {
          await election.resign({ forGood: true })
          return null
        }
      }
    },
  }
}
