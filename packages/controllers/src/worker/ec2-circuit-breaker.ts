import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import { CloudError } from '@lcm/cloud/errors'
import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { OUTAGE_MS } from '@lcm/domain/worker/decision/ec2-outage'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import type { Unreadable } from '@lcm/domain/worker/observation'
import { aborted, exponentialBackoff, type HostedService } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Outages } from '../kit/dependency-outages.ts'

/** Instances and images are read by calls that may fail apart from each other. */
type Read = 'instances' | 'images'

/** A region that does not answer is asked at least this often, so its recovery is noticed soon. */
const PROBE_MS_MAX = 30_000

export interface Ec2Outages extends HostedService {
  /**
   * The same machines, but while a region does not answer its reads fail at once with its last error and nothing is sent. One probe
   * at a time asks for all of them, and the first that succeeds wakes the workers that could not be seen.
   */
  guard(machines: BatchedCompute): BatchedCompute
  /** What a worker saw whose read failed with this error; remembers to wake it. */
  unreadable(worker: { readonly id: string; readonly aws_region: string }, read: Read, error: CloudError): Unreadable
}

/** Errors after which nothing is known. A throttled region answers, but not now; any other refusal is an answer. */
const isNoAnswer = (error: unknown): error is CloudError =>
  error instanceof CloudError && (error.errorClass === 'transient' || error.errorClass === 'auth')
const isThrottled = (error: unknown): boolean => error instanceof CloudError && error.errorClass === 'throttled'

interface Parts {
  readonly clock: Clock
  readonly outages: Outages
  /** Ends the backoff of a worker. */
  wake(workerId: string): void
}

type Probe = (signal: AbortSignal) => Promise<unknown>

/** One kind of read in one region. */
interface Lane {
  /** Makes the call, unless the lane is known not to answer. `probe` finds out when it does again. */
  read<Answer>(call: () => Promise<Answer>, probe: Probe, signal: AbortSignal): Promise<Answer>
  unreadable(workerId: string, error: CloudError): Unreadable
  clear(): void
}

interface Outage {
  readonly error: CloudError
  readonly sinceMs: number
}

/** Whether a lane answers, and the workers that could not be seen while it does not. */
interface Silence {
  /** Null until a second failure confirms the first: one failed call is no outage. */
  outage(): Outage | null
  /** There was no answer since the call was sent, by the monotonic clock, or since the last answer to another call. */
  failed(error: CloudError, sentMs: number): void
  /** The failures are an outage: reads fail at once, and workers are woken when it has lasted long enough for their conditions. */
  confirmed(error: CloudError): void
  answeredCall(): void
  /** Ends the outage and wakes the workers. */
  ended(): void
  unseen(workerId: string): void
  forget(): void
}

function newSilence(name: string, { clock, outages, wake }: Parts): Silence {
  const unseen = new Set<string>()
  let answeredMs = Number.NEGATIVE_INFINITY
  let sinceMs: number | null = null
  let outage: Outage | null = null
  let isReported = false

  function confirmed(error: CloudError): void {
    outage = { error, sinceMs: sinceMs ?? clock.now() }
    if (isReported || clock.now() - outage.sinceMs < OUTAGE_MS) return
    isReported = true
    for (const worker of unseen) wake(worker)
  }

  function forget(): void {
    sinceMs = null
    outage = null
    isReported = false
    unseen.clear()
  }

  return {
    outage: () => outage,
    failed(error, sentMs) {
      const waitedMs = Math.round(clock.monotonic() - Math.max(sentMs, answeredMs))
      sinceMs ??= clock.now() - waitedMs
      // What AWS refuses to the account is a problem of the account, not an outage.
      if (error.errorClass !== 'auth') outages.failed(name, error, waitedMs)
      if (outages.problemSince(name) !== null) confirmed(error)
    },
    confirmed,
    answeredCall() {
      answeredMs = clock.monotonic()
    },
    ended() {
      const woken = outage === null ? [] : [...unseen]
      answeredMs = clock.monotonic()
      forget()
      outages.answered(name)
      woken.forEach(wake)
    },
    unseen: workerId => void unseen.add(workerId),
    forget() {
      forget()
      outages.forget(name)
    },
  }
}

/** Lets one call at a time through while there is no answer; `term` is null while this instance does not lead. */
function newLane(read: Read, region: string, parts: Parts, term: () => AbortSignal | null): Lane {
  const { clock } = parts
  const backoff = exponentialBackoff({ maxMs: PROBE_MS_MAX })
  const silence = newSilence(nameOf(read, region), parts)
  let isProbed = false

  /** Confirms a failure by another call at once, then probes with backoff until one is answered. */
  async function probeUntilAnswered(probe: Probe, signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      const sentMs = clock.monotonic()
      try {
        await probe(signal)
        return silence.ended()
      } catch (error) {
        if (signal.aborted) return
        if (isNoAnswer(error)) {
          silence.failed(error, sentMs)
          silence.confirmed(error)
        } else if (!isThrottled(error)) return silence.ended()
      }
      await clock.sleep(backoff(failures), signal)
    }
  }

  function startProbe(probe: Probe, signal: AbortSignal): void {
    if (isProbed) return
    isProbed = true
    void probeUntilAnswered(probe, signal).finally(() => {
      isProbed = false
    })
  }

  return {
    async read(call, probe, signal) {
      const outage = silence.outage()
      if (outage !== null) throw outage.error
      const sentMs = clock.monotonic()
      try {
        const answer = await call()
        silence.answeredCall()
        return answer
      } catch (error) {
        const leading = term()
        if (isNoAnswer(error) && !signal.aborted && leading !== null) {
          silence.failed(error, sentMs)
          startProbe(probe, leading)
        }
        throw error
      }
    },
    unreadable(workerId, error) {
      silence.unseen(workerId)
      const outage = silence.outage()
      return outage === null ? ofOneRead(error) : ofOutage(read, region, outage)
    },
    clear: silence.forget,
  }
}

export function ec2Outages(parts: Parts): Ec2Outages {
  const lanes = new Map<string, Lane>()
  let term: AbortSignal | null = null

  function laneOf(read: Read, region: string): Lane {
    const key = `${read} ${region}`
    const lane = lanes.get(key) ?? newLane(read, region, parts, () => term)
    lanes.set(key, lane)
    return lane
  }

  return {
    name: 'ec2-outages',
    async run(signal) {
      term = signal
      await aborted(signal)
      for (const lane of lanes.values()) lane.clear()
      term = null
    },
    guard(machines) {
      /** A listing is the probe: what fails for one machine only is no outage. */
      const instances = <Answer>(region: string, signal: AbortSignal, call: () => Promise<Answer>) =>
        laneOf('instances', region).read(call, each => machines.list(region, { tag_keys: [TAG.fleet] }, each), signal)
      const images = <Answer>(region: string, signal: AbortSignal, call: (each: AbortSignal) => Promise<Answer>) =>
        laneOf('images', region).read(() => call(signal), call, signal)
      return {
        ...machines,
        list: (region, filter, signal) => instances(region, signal, () => machines.list(region, filter, signal)),
        describeOne: (region, id, signal) => instances(region, signal, () => machines.describeOne(region, id, signal)),
        newestImage: (region, wanted, signal) =>
          images(region, signal, each => machines.newestImage(region, wanted, each)),
        imageIds: (region, pattern, signal) => images(region, signal, each => machines.imageIds(region, pattern, each)),
      }
    },
    unreadable: ({ id, aws_region }, read, error) => laneOf(read, aws_region).unreadable(id, error),
  }
}

const ofOneRead = ({ action, code }: CloudError): Unreadable => ({
  because: reason('ec2_read_failed', { action, aws_code: code }),
  sinceMs: null,
})

const nameOf = (read: Read, region: string): string =>
  read === 'instances' ? `EC2 in ${region}` : `EC2 images in ${region}`

function ofOutage(read: Read, region: string, { error, sinceMs }: Outage): Unreadable {
  const { errorClass, action, code } = error
  const since = toInstant(sinceMs)
  const because =
    errorClass === 'auth'
      ? reason('ec2_refuses_access', { action, region, aws_code: code, since })
      : reason('ec2_not_responding', { service: nameOf(read, region), since })
  return { because, sinceMs }
}
