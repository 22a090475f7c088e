import type { LaunchRequest } from '@lcm/cloud/compute'
import type { CloudErrorClass } from '@lcm/cloud/errors'
import { CloudError } from '@lcm/cloud/errors'
import { EPOCH_HEADER } from '@lcm/contract/wire'
import { TAG } from '@lcm/domain/worker/instance'
import type { Leadership } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { FLEET } from '../controller-process.ts'
import type { Spoilt } from '../world.ts'
import { at, type Mutant } from './mutant.ts'

const MINUTE_MS = 60_000

const failed = (errorClass: CloudErrorClass, code: string) =>
  new CloudError(errorClass, { code, action: 'RunInstances', message: 'on purpose' })
const ONE = [at(0, 'create')]
/** Leaders that notice the end of their lease only after a while, and believe in it until then. */
function sleepy(noticedAfterMs: number): Pick<Spoilt, 'clock' | 'election'> {
  let later: Clock['after'] = () => () => undefined
  const late = (leadership: Leadership): Leadership => {
    const noticed = new AbortController()
    const notice = () => later(noticedAfterMs, () => noticed.abort(leadership.signal.reason))
    leadership.signal.addEventListener('abort', notice, { once: true })
    return { ...leadership, signal: noticed.signal, isHeld: () => !noticed.signal.aborted }
  }
  return {
    clock(clock) {
      later = clock.after
      return clock
    },
    election: election => ({
      ...election,
      async campaign(signal) {
        const leadership = await election.campaign(signal)
        return leadership && late(leadership)
      },
    }),
  }
}

/** Leaders change while there is something to do. */
const CHANGING_LEADERS = [
  ...Array.from({ length: 3 }, (_, n) => at(n / 10, 'create')),
  ...Array.from({ length: 12 }, (_, n) => [
    at(10 + 6 * n, 'lead as a zombie', { much: 0.9 }),
    at(10.1 + 6 * n, 'stop', { who: 0.4 }),
    at(13 + 6 * n, 'start', { who: 0.4 }),
  ]).flat(),
]

/** Leaders fall asleep in the middle of what they do, and wake when others have long gone on. */
const SLEEPING_LEADERS = [
  ...Array.from({ length: 3 }, (_, n) => at(n / 10, 'create')),
  ...Array.from({ length: 24 }, (_, n) => [
    at(10 + 6 * n, 'freeze a process at a call', { much: n / 80, forMinutes: 2 }),
    at(10.01 + 6 * n, n % 2 === 0 ? 'stop' : 'start', { who: 0.4 }),
  ]).flat(),
]

/** The first launch happens and is said to have failed; nobody finds it by looking. `changed` is what the n-th asks for instead. */
function firstAnswerLost(error: CloudError, changed: (n: number) => Partial<LaunchRequest>): Spoilt {
  let launches = 0
  return {
    compute: compute => ({
      ...compute,
      list: async () => [],
      async launch(region, request, signal) {
        launches += 1
        const instance = await compute.launch(region, { ...request, ...changed(launches) }, signal)
        if (launches === 1) throw error
        return instance
      },
    }),
  }
}

/** Defects between the worker-controller and the cloud. */
export const cloudMutants: readonly Mutant[] = [
  {
    name: 'no client token',
    breaks: 'a launch whose answer was lost is repeated under another token',
    caughtBy: /live machines/,
    acts: ONE,
    spoil: () =>
      firstAnswerLost(failed('transient', 'ECONNRESET'), n => ({ client_token: String(n).padStart(64, '0') })),
  },
  {
    name: 'forget the launch attempt',
    breaks: 'a launch whose answer was lost counts as refused, and the next attempt begins',
    caughtBy: /live machines/,
    acts: ONE,
    spoil: () => firstAnswerLost(failed('capacity', 'InsufficientInstanceCapacity'), () => ({})),
  },
  {
    name: 'trust one NotFound',
    breaks: 'a machine that was not shown once counts as gone from then on',
    caughtBy: /without a record for too long|live machines/,
    acts: [...ONE, at(1, 'create', { who: 0.5 })],
    spoil() {
      const looks = new Map<string, number>()
      const isGone = (id: string) => (looks.get(id) ?? 0) > 8
      return {
        compute: compute => ({
          ...compute,
          list: async (...asked) => (await compute.list(...asked)).filter(each => !isGone(each.instance_id)),
          async describe(region, ids, signal) {
            for (const id of ids) looks.set(id, (looks.get(id) ?? 0) + 1)
            const { found, missing } = await compute.describe(region, ids, signal)
            const isSeen = (id: string) => !isGone(id)
            return {
              found: found.filter(each => isSeen(each.instance_id)),
              missing: ids.filter(id => !isSeen(id) || missing.includes(id)),
            }
          },
        }),
      }
    },
  },
  {
    name: 'no answer is an empty answer',
    breaks: 'a cloud that does not answer counts as one that shows nothing',
    caughtBy: /without a record for too long|live machines/,
    acts: [
      ...ONE,
      at(20, 'turn the cloud hostile', { forMinutes: 60 }),
      at(140, 'turn the cloud hostile', { forMinutes: 60 }),
    ],
    spoil() {
      let calls = 0
      // Nobody answers from some moment on, for a while.
      const isSilent = () => {
        calls += 1
        return calls > 20 && calls < 60
      }
      return {
        compute: compute => ({
          ...compute,
          list: async (...asked) => (isSilent() ? [] : compute.list(...asked).catch(() => [])),
          describe: (region, ids, signal) =>
            isSilent()
              ? Promise.resolve({ found: [], missing: ids })
              : compute.describe(region, ids, signal).catch(() => ({ found: [], missing: ids })),
        }),
      }
    },
  },
  {
    name: 'no fencing',
    breaks: 'who has lost the lease goes on changing the cloud',
    caughtBy: /long after/,
    acts: SLEEPING_LEADERS,
    spoil: () => sleepy(5 * MINUTE_MS),
  },
  {
    name: 'unchecked keep-alive',
    breaks: 'a lease that ran out is not noticed, and everybody who ever led leads',
    caughtBy: /long after|of epoch/,
    acts: CHANGING_LEADERS,
    spoil() {
      let newest = 0
      return {
        ...sleepy(60 * MINUTE_MS),
        // Whoever writes says the newest epoch that there is.
        asking: dispatch => request => {
          newest = Math.max(newest, Number(request.headers[EPOCH_HEADER] ?? 0))
          const isFenced = request.headers[EPOCH_HEADER] !== undefined
          const headers = isFenced ? { ...request.headers, [EPOCH_HEADER]: String(newest) } : request.headers
          return dispatch({ ...request, headers })
        },
      }
    },
  },
  {
    name: 'terminate before the licence is given back',
    breaks: 'a licence counts as returned because that was asked for',
    caughtBy: /with its licence/,
    acts: [at(0, 'create with a licence'), at(30, 'terminate')],
    spoil() {
      let isToldReturned = false
      return {
        cml: cml => ({
          ...cml,
          async deregister() {
            isToldReturned = true
            return 'returned'
          },
          async licensing(login, signal) {
            const seen = await cml.licensing(login, signal)
            return isToldReturned ? { ...seen, registration: 'NOT_REGISTERED' } : seen
          },
        }),
      }
    },
  },
  {
    name: 'licence left behind, and nobody told',
    breaks: 'a licence that the Smart Account still counts is taken for returned',
    caughtBy: /is lost without a record|with its licence/,
    acts: [at(0, 'create with a licence'), at(30, 'lose the Smart Account', { forMinutes: 60 }), at(31, 'terminate')],
    spoil: () => ({
      cml: cml => ({
        ...cml,
        async deregister(login, signal) {
          await cml.deregister(login, signal)
          return 'returned'
        },
      }),
    }),
  },
  {
    name: 'discovery imports another fleet',
    breaks: 'the tag that names the fleet is not looked at',
    caughtBy: /is a machine of another-fleet/,
    acts: [...ONE, at(1, 'plant a foreign machine')],
    spoil: () => ({
      compute: compute => ({
        ...compute,
        list: async (...asked) =>
          (await compute.list(...asked)).map(each => {
            const { [TAG.fleet]: fleet, ...tags } = each.tags
            return fleet === undefined || fleet === FLEET ? each : { ...each, tags }
          }),
      }),
    }),
  },
  {
    name: 'clock skew trusted',
    breaks: 'a controller goes by the clock of its own machine, which is two hours ahead',
    caughtBy: /too early/,
    acts: [
      ...ONE,
      at(15, 'book', { much: 0.49 }),
      ...[0.71, 0.77].map(who => at(20, 'jump a clock', { who, much: 1, forMinutes: 60 })),
    ],
    spoil: () => ({ clock: (_, own) => own }),
  },
]
