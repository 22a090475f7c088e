import { UnreachableError } from '@lcm/client/client'
import type { ApiResponse, Dispatch } from '@lcm/contract/route-spec'
import type { ControlPlane } from '@lcm/control-plane/control-plane'
import type { HostedService } from '@lcm/runtime'
import type { VirtualTime } from '@lcm/testkit/virtual-time'
import type { When } from './fault-points.ts'
import { type Killable, killable } from './killable-api-ports.ts'

/** An API process that can be killed at any point and is restarted on the same store. */
export interface RestartingApi {
  readonly dispatch: Dispatch
  /** Dies at once, as by kill -9. */
  kill(downMs: number): void
  /** Dies before or after one of its next store calls, in the middle of a request. */
  killAt(callsAhead: number, when: When, downMs: number): void
  /** Starts it now, without further kills. */
  restore(): Promise<void>
  readonly kills: number
}

export interface ApiParts {
  readonly time: VirtualTime
  open(ports: Killable): Promise<ControlPlane>
  onKill(downMs: number): void
  run(service: HostedService): () => void
}

interface Incarnation {
  readonly ports: Killable
  readonly waiting: Set<(error: Error) => void>
  plane: ControlPlane | null
  abandoned: readonly (() => void)[]
}

/** Delay until the supervisor restarts a process. */
const RETRIED_MS = 1_000

export async function restartingApi({ time, open, onKill, run }: ApiParts): Promise<RestartingApi> {
  let incarnation: Incarnation | null = null
  let kills = 0

  async function start(): Promise<void> {
    if (incarnation !== null) return
    const mine: Incarnation = { ports: killable(), waiting: new Set(), plane: null, abandoned: [] }
    incarnation = mine
    try {
      const plane = await open(mine.ports)
      if (!mine.ports.isAlive) return
      mine.plane = plane
      // The simulation doesn't use the live event stream, which polls every second.
      mine.abandoned = plane.services.filter(({ name }) => name !== 'live-events').map(run)
    } catch {
      end(mine, RETRIED_MS)
    }
  }

  function end(victim: Incarnation, downMs: number): void {
    if (incarnation !== victim) return
    incarnation = null
    victim.ports.end()
    for (const abandon of victim.abandoned) abandon()
    for (const reject of victim.waiting) reject(new UnreachableError('connection reset'))
    time.clock.after(downMs, () => void start())
  }

  function kill(victim: Incarnation, downMs: number): void {
    if (incarnation !== victim) return
    kills += 1
    onKill(downMs)
    time.trace('API killed')
    end(victim, downMs)
  }

  await start()
  return {
    dispatch: async request => {
      const current = incarnation
      if (current === null || current.plane === null) throw new UnreachableError('connection refused')
      return whileAlive(current, current.plane.dispatch(request))
    },
    kill: downMs => void (incarnation !== null && kill(incarnation, downMs)),
    killAt(callsAhead, when, downMs) {
      const victim = incarnation
      victim?.ports.triggerAt(callsAhead, when, () => kill(victim, downMs))
    },
    async restore() {
      await start()
      incarnation?.ports.clearFaults()
      if (incarnation === null) throw new Error('the API did not start')
    },
    get kills() {
      return kills
    },
  }
}

/** Rejects when the process dies before it responds. */
function whileAlive({ waiting }: Incarnation, answer: Promise<ApiResponse>): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    waiting.add(reject)
    const settle = () => void waiting.delete(reject)
    answer.then(resolve, reject).finally(settle)
  })
}
