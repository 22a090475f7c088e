import { type HostedService, host, type Logger, linkedAbort } from '@lcm/runtime'

/**
 * Runs all of them until `signal` aborts, and ends them one stage after the other: those of the first are asked to end at
 * once, the others when everything before them has ended. When one fails, all end in the same order, and it rejects.
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
