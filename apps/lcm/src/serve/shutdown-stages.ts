import { type HostedService, host, type Logger, linkedAbort } from '@lcm/runtime'

/**
 * Runs all services until `signal` aborts, then shuts them down stage by stage: each stage starts when the one before it has
 * ended. If a service fails, all are shut down in the same order, and it rejects.
 */
export async function hostInStages(
  stages: readonly (readonly HostedService[])[],
  signal: AbortSignal,
  { logger }: { readonly logger: Logger },
): Promise<void> {
  const ending = linkedAbort(signal)
  const failures: unknown[] = []
  const running: Promise<void>[] = []
  let mayEnd = ending.signal
  for (const services of stages) {
    const ended = new AbortController()
    const stage = host(services, mayEnd, { logger }).catch((error: unknown) => {
      failures.push(error)
      ending.abort(error)
    })
    running.push(stage.finally(() => ended.abort()))
    mayEnd = ended.signal
  }
  await Promise.all(running)
  ending.unlink()
  if (failures.length > 0) throw failures[0]
}
