import { CloudError } from '@lcm/cloud/errors'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { FLEET } from '../world/worker-controller-process.ts'
import { at, changeLeadership, type Mutant } from './mutant.ts'

/** Reports a lost response as a refusal. */
const asRefusal = (error: unknown): unknown =>
  error instanceof CloudError && error.errorClass === 'transient'
    ? new CloudError('capacity', {
        code: 'InsufficientInstanceCapacity',
        action: 'RunInstances',
        message: error.message,
      })
    : error
/** Reports a lost response as a request that was not sent. */
const asThrottled = (error: unknown): unknown =>
  error instanceof CloudError && error.errorClass === 'transient'
    ? new CloudError('throttled', { code: 'RateLimited', action: 'launch', message: 'not now', retryAfterMs: 60_000 })
    : error
const ONE = [at(0, 'create')]
/** The response of the launch is lost, and for a while no listing shows the machine. */
const LOST_LAUNCH = [at(0, 'lose the next launch', { forMinutes: 5 }), at(0.1, 'create')]

/** Leaders change, followed by long operations that a former leader would take part in. */
const CHANGING_LEADERS = [
  ...Array.from({ length: 3 }, (_, n) => at(n / 10, 'create')),
  ...Array.from({ length: 6 }, (_, n) => [
    at(10 + 12 * n, 'lead as a zombie', { amount: 0.9 }),
    at(13 + 12 * n, 'disconnect EC2'),
    at(13.1 + 12 * n, n % 2 === 0 ? 'stop' : 'start', { target: 0.4 }),
  ]).flat(),
]

/** Leaders are frozen in the middle of an operation and thawed after another has taken over. */
const SLEEPING_LEADERS = [
  ...Array.from({ length: 3 }, (_, n) => at(n / 10, 'create')),
  ...Array.from({ length: 24 }, (_, n) => [
    at(10 + 6 * n, 'freeze a process at a call', { amount: n / 80, forMinutes: 2 }),
    at(10.01 + 6 * n, n % 2 === 0 ? 'stop' : 'start', { target: 0.4 }),
  ]).flat(),
]

/** Defects between the worker-controller and the cloud. */
export const cloudMutants: readonly Mutant[] = [
  {
    name: 'no client token',
    breaks: 'a launch with a lost response is repeated with another token',
    caughtBy: /live machines/,
    acts: LOST_LAUNCH,
    defects() {
      let launches = 0
      return {
        compute: compute => ({
          ...compute,
          launch(region, request, signal) {
            launches += 1
            return compute.launch(region, { ...request, client_token: String(launches).padStart(64, '0') }, signal)
          },
        }),
      }
    },
  },
  {
    name: 'forget the launch attempt',
    breaks: 'a launch with a lost response counts as refused, and the next attempt begins',
    caughtBy: /live machines/,
    acts: LOST_LAUNCH,
    defects: () => ({
      compute: compute => ({
        ...compute,
        launch: (...args) => compute.launch(...args).catch(error => Promise.reject(asRefusal(error))),
      }),
    }),
  },
  {
    name: 'lost launch treated as unsent',
    breaks: 'a launch with a lost response counts as not sent because of the rate limit',
    caughtBy: /without a record for too long/,
    acts: [...LOST_LAUNCH, at(0.11, 'terminate')],
    defects: () => ({
      compute: compute => ({
        ...compute,
        launch: (...args) => compute.launch(...args).catch(error => Promise.reject(asThrottled(error))),
      }),
    }),
  },
  {
    name: 'trust one NotFound',
    breaks: 'a machine that is missing in one listing counts as gone, without a second check',
    caughtBy: /without a record for too long/,
    acts: [...ONE, at(20, 'show no machines', { forMinutes: 0.7 })],
    defects: () => ({
      settings: { worker: { policy: { ...WORKER_POLICY, missesApartMs: 0 } } },
    }),
  },
  {
    name: 'failed listing treated as empty',
    breaks: 'a failed listing counts as an empty one',
    caughtBy: /without a record for too long/,
    acts: [...ONE, at(20, 'disconnect EC2', { forMinutes: 5 })],
    defects: () => ({
      compute: compute => ({
        ...compute,
        list: (...args) => compute.list(...args).catch(() => []),
        describe: (region, ids, signal) =>
          compute.describe(region, ids, signal).catch(() => ({ found: [], missing: ids })),
      }),
    }),
  },
  {
    name: 'delay without backoff',
    breaks: 'a worker is retried with the same short delay during an EC2 outage',
    caughtBy: /was read more than/,
    acts: [...ONE, at(20, 'disconnect EC2', { forMinutes: 8 })],
    defects: () => ({ settings: { worker: { backoffMultiplier: 1 } } }),
  },
  {
    name: 'no fencing',
    breaks: 'machines are changed without a check of the lease',
    caughtBy: /long after/,
    acts: SLEEPING_LEADERS,
    defects: () => ({ election: changeLeadership(leadership => ({ ...leadership, isHeld: () => true })) }),
  },
  {
    name: 'unchecked keep-alive',
    breaks: 'an expired lease is not noticed, and every former leader goes on',
    caughtBy: /long after/,
    acts: CHANGING_LEADERS,
    defects: () => ({
      election: changeLeadership(leadership => ({
        ...leadership,
        signal: new AbortController().signal,
        isHeld: () => true,
      })),
    }),
  },
  {
    name: 'terminate before the license is returned',
    breaks: 'a license counts as returned when its return was requested',
    caughtBy: /with its license/,
    acts: [at(0, 'create with a license'), at(30, 'terminate')],
    defects() {
      let isReportedReturned = false
      return {
        cml: cml => ({
          ...cml,
          async deregister() {
            isReportedReturned = true
            return 'returned'
          },
          async licensing(login, signal) {
            const seen = await cml.licensing(login, signal)
            return isReportedReturned ? { ...seen, registration: 'NOT_REGISTERED' } : seen
          },
        }),
      }
    },
  },
  {
    name: 'unreturned license not recorded',
    breaks: 'a license that the Smart Account still counts is reported as returned',
    caughtBy: /is lost without a record/,
    acts: [
      at(0, 'create with a license'),
      at(30, 'disconnect the Smart Account', { forMinutes: 60 }),
      at(31, 'deregister a license'),
    ],
    defects: () => ({
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
    breaks: 'the fleet tag is ignored',
    caughtBy: /is a machine of another-fleet/,
    acts: [...ONE, at(1, 'launch a foreign machine')],
    defects: () => ({
      compute: compute => ({
        ...compute,
        list: async (...args) =>
          (await compute.list(...args)).map(each => {
            const { [TAG.fleet]: fleet, ...tags } = each.tags
            return fleet === undefined || fleet === FLEET ? each : { ...each, tags }
          }),
      }),
    }),
  },
  {
    name: 'Name tag not updated',
    breaks: 'the new name of a worker never reaches its machine',
    caughtBy: /is named .*, and its worker renamed/,
    acts: [...ONE, at(20, 'rename')],
    defects: () => ({ compute: compute => ({ ...compute, tag: async () => undefined }) }),
  },
  {
    name: 'clock skew trusted',
    breaks: 'a controller uses the clock of its own machine, which is two hours ahead',
    // An end that comes too early also breaks the rule about silence, which is checked first.
    caughtBy: /too early|although its machine and its lab are there/,
    acts: [
      ...ONE,
      at(15, 'book', { amount: 0.49 }),
      ...[0.71, 0.77].map(target => at(20, 'jump a clock', { target, amount: 1, forMinutes: 60 })),
    ],
    defects: () => ({ clock: (_, own) => own }),
  },
]
