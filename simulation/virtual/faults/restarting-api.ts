import { UnreachableError } from '@lcm/client/api-error'
import type { ApiResponse, Dispatch } from '@lcm/contract/wire'
import type { ControlPlane } from '@lcm/control-plane/control-plane'
import type { HostedService } from '@lcm/runtime'
import type { VirtualTime } from '@lcm/testkit/virtual-time'
import type { When } from './fault-points.ts'
import { type Killable, killable } from './killable-store.ts'

/** The process of the API: it can die in the middle of anything, and is started anew on the same store. */
export interface RestartingApi {
  readonly dispatch: Dispatch
  /** Dies at once, as by kill -9. */
  kill(downMs: number): void
  /** Dies before or after one of its next calls of the store, in the middle of whatever request makes it. */
  killAt(callsAhead: number, when: When, downMs: number): void
  /** It is there again now, and stays. */
  restore(): Promise<void>
  readonly kills: number
}

export interface ApiParts {
  readonly time: VirtualTime
  open(mortal: Killable): Promise<ControlPlane>
  run(service: HostedService): () => void
}

interface Life {
  readonly mortal: Killable
  readonly waiting: Set<(error: Error) => void>
  plane: ControlPlane | null
  abandoned: readonly (() => void)[]
}

/** Delay until the supervisor restarts a process. */
const RETRIED_MS = 1_000

export async function restartingApi({ time, open, run }: ApiParts): Promise<RestartingApi> {
  let life: Life | null = null
  let kills = 0

  async function start(): Promise<void> {
    if (life !== null) return
    const mine: Life = { mortal: killable(), waiting: new Set(), plane: null, abandoned: [] }
    life = mine
    try {
      const plane = await open(mine.mortal)
      if (!mine.mortal.isAlive) return
      mine.plane = plane
      // Decisions and samples for event streams are read every second, which nobody here follows.
      mine.abandoned = plane.services.filter(({ name }) => name !== 'live-events').map(run)
    } catch {
      end(mine, RETRIED_MS)
    }
  }

  function end(victim: Life, downMs: number): void {
    if (life !== victim) return
    life = null
    victim.mortal.end()
    for (const abandon of victim.abandoned) abandon()
    for (const reject of victim.waiting) reject(new UnreachableError('the connection broke'))
    time.clock.after(downMs, () => void start())
  }

  function kill(victim: Life, downMs: number): void {
    if (life !== victim) return
    kills += 1
    time.trace('the API dies')
    end(victim, downMs)
  }

  await start()
  return {
    dispatch: async request => {
      const asked = life
      if (asked === null || asked.plane === null) throw new UnreachableError('nobody listens')
      return whileAlive(asked, asked.plane.dispatch(request))
    },
    kill: downMs => void (life !== null && kill(life, downMs)),
    killAt(callsAhead, when, downMs) {
      const victim = life
      victim?.mortal.strikeAt(callsAhead, when, () => kill(victim, downMs))
    },
    async restore() {
      await start()
      life?.mortal.spare()
      if (life === null) throw new Error('the API does not start')
    },
    get kills() {
      return kills
    },
  }
}

/** What the dead would have answered never comes; that the connection broke does. */
function whileAlive({ waiting }: Life, answer: Promise<ApiResponse>): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    waiting.add(reject)
    const settle = () => void waiting.delete(reject)
    answer.then(resolve, reject).finally(settle)
  })
}
