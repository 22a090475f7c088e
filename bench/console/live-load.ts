import { systemClock } from '@lcm/runtime/clock'
import { sampleOf, workerId } from '../api/fleet-documents.ts'
import { openConnection, requestText } from '../api/http-connections.ts'
import { CONTROLLER_TOKEN } from '../api/server-processes.ts'

export interface LiveLoad {
  /** Changes of workers so far. */
  readonly changes: () => number
  stop(): Promise<void>
}

interface Rates {
  readonly workers: number
  readonly changesPerSecond: number
  readonly samplesPerSecond: number
}

/** A changing fleet: updates of workers and telemetry samples. */
export function liveLoad(port: number, { workers, changesPerSecond, samplesPerSecond }: Rates): LiveLoad {
  const end = new AbortController()
  let changes = 0
  const change = (n: number) => {
    changes += 1
    // A prime, so that changes are spread over the whole list.
    return requestText('PATCH', `workers/${workerId((n * 7919) % workers)}`, { tags: { owner: `team-${n}` } })
  }
  const sample = (n: number) => {
    const body = sampleOf(n, systemClock.now() + 60_000)
    return requestText('POST', `workers/${workerId(n % workers)}/metrics`, body, CONTROLLER_TOKEN)
  }
  const running = [
    steadily(port, changesPerSecond, change, end.signal),
    steadily(port, samplesPerSecond, sample, end.signal),
  ]
  return {
    changes: () => changes,
    async stop() {
      end.abort()
      await Promise.all(running)
    },
  }
}

async function steadily(port: number, perSecond: number, next: (n: number) => Buffer, signal: AbortSignal) {
  const connection = await openConnection(port)
  const startMs = systemClock.monotonic()
  for (let n = 0; !signal.aborted; n += 1) {
    await systemClock.sleep(Math.max(0, startMs + (n * 1000) / perSecond - systemClock.monotonic()), signal)
    const { status } = await connection.send(next(n))
    if (status >= 400) throw new Error(`the fleet cannot live: answered with ${status}`)
  }
  connection.close()
}
