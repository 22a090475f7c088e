import type { Election, Leadership } from './election.ts'
import { linkedAbort } from './linked-abort.ts'
import { type Logger, silentLogger } from './logger.ts'

/** A service that the host runs. `run` resolves once `signal` has aborted and active work is finished. */
export interface HostedService {
  readonly name: string
  /** `leadership` is set under an election: its signal means stop at once, `signal` alone means finish. */
  run(signal: AbortSignal, leadership?: Leadership): Promise<void>
}

export class HostedServiceError extends Error {
  readonly code = 'hosted_service_failed'
  readonly service: string
  constructor(service: string, cause: unknown) {
    super(`${service}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.name = 'HostedServiceError'
    this.service = service
  }
}

/** Runs all until `signal` aborts. A service that fails or ends early is reported, stops the others and rejects. */
export function host(
  services: readonly HostedService[],
  signal: AbortSignal,
  { logger = silentLogger }: { readonly logger?: Logger } = {},
): Promise<void> {
  return runTogether(services, signal, undefined, logger)
}

/** Several services as one, started in this order. */
export const allOf = (name: string, services: readonly HostedService[]): HostedService => ({
  name,
  run: (signal, leadership) => runTogether(services, signal, leadership, silentLogger),
})

async function runTogether(
  services: readonly HostedService[],
  signal: AbortSignal,
  leadership: Leadership | undefined,
  logger: Logger,
): Promise<void> {
  const together = linkedAbort(signal)
  const failures: unknown[] = []
  const runOne = async (service: HostedService) => {
    try {
      await runToItsEnd(service, together.signal, leadership)
    } catch (err) {
      failures.push(new HostedServiceError(service.name, err))
      logger.error({ service: service.name, err }, 'service failed')
      together.abort(err)
    }
  }
  await Promise.all(services.map(runOne))
  together.unlink()
  if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('; '))
  if (failures.length === 1) throw failures[0]
}

/** A service that ends without a stop has failed, like one that threw. */
export async function runToItsEnd(service: HostedService, signal: AbortSignal, leadership?: Leadership): Promise<void> {
  await service.run(signal, leadership)
  if (!signal.aborted) throw new Error('ended without a stop request')
}

/**
 * Runs `service` only while this instance leads. On a clean stop it resigns after the service has finished. It also
 * resigns when the service fails, so that another instance can try.
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
