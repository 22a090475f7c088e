import { CloudError } from '@lcm/cloud/errors'
import type { Machines } from '@lcm/cloud/gathered'
import { toInstant } from '@lcm/domain/instant'
import { TAG } from '@lcm/domain/worker/instance'
import type { Unreadable } from '@lcm/domain/worker/observation'
import { aborted, exponentialBackoff, type HostedService } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Outages } from '@lcm/service/outages'

/** Instances and images are read by calls that may fail apart from each other. */
type Read = 'instances' | 'images'

/** A region that does not answer is asked at least this often, so its recovery is noticed soon. */
const PROBE_MS_MAX = 30_000

export interface Ec2Outages extends HostedService {
  /**
   * The same machines, but while a region does not answer its reads fail at once with its last error and nothing is sent. One probe
   * at a time asks for all of them, and the first that succeeds wakes the workers that could not be seen.
   */
  guard(machines: Machines): Machines
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

/** Lets one call at a time through while there is no answer; `term` is null while this instance does not lead. */
function newLane(name: string, parts: Parts, term: () => AbortSignal | null): Lane {
  const { clock, outages } = parts
  const backoff = exponentialBackoff({ maxMs: PROBE_MS_MAX })
  const unseen = new Set<string>()
  let isProbed = false
  let outage: { error: CloudError; readonly sinceMs: number } | null = null

  /** What AWS refuses to the account is a problem of the account, not an outage. */
  function note(error: CloudError): void {
    if (error.errorClass !== 'auth') outages.failed(name, error)
  }

  /** Confirms a failure by another call at once, then probes with backoff until one is answered. */
  async function probeUntilAnswered(probe: Probe, signal: AbortSignal): Promise<void> {
    const sinceMs = clock.now()
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        await probe(signal)
        return answered()
      } catch (error) {
        if (signal.aborted) return
        if (!isNoAnswer(error) && !isThrottled(error)) return answered()
        if (isNoAnswer(error)) {
          note(error)
          outage = { error, sinceMs }
        }
      }
      await clock.sleep(backoff(failures), signal)
    }
  }

  function answered(): void {
    const woken = outage === null ? [] : [...unseen]
    outage = null
    unseen.clear()
    outages.answered(name)
    woken.forEach(parts.wake)
  }

  function startProbe(probe: Probe, error: CloudError): void {
    const signal = term()
    if (isProbed || signal === null) return
    isProbed = true
    note(error)
    void probeUntilAnswered(probe, signal).finally(() => {
      isProbed = false
    })
  }

  return {
    async read(call, probe, signal) {
      if (outage !== null) throw outage.error
      try {
        return await call()
      } catch (error) {
        if (isNoAnswer(error) && !signal.aborted) startProbe(probe, error)
        throw error
      }
    },
    unreadable(workerId, error) {
      unseen.add(workerId)
      return outage === null ? ofOneRead(error) : ofOutage(name, outage)
    },
    clear() {
      outage = null
      unseen.clear()
      outages.forget(name)
    },
  }
}

export function ec2Outages(parts: Parts): Ec2Outages {
  const lanes = new Map<string, Lane>()
  let term: AbortSignal | null = null

  function laneOf(read: Read, region: string): Lane {
    const name = read === 'instances' ? `EC2 in ${region}` : `EC2 images in ${region}`
    const lane = lanes.get(name) ?? newLane(name, parts, () => term)
    lanes.set(name, lane)
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
        look: (region, id, signal) => instances(region, signal, () => machines.look(region, id, signal)),
        newestImage: (region, wanted, signal) =>
          images(region, signal, each => machines.newestImage(region, wanted, each)),
        imageIds: (region, pattern, signal) => images(region, signal, each => machines.imageIds(region, pattern, each)),
      }
    },
    unreadable: ({ id, aws_region }, read, error) => laneOf(read, aws_region).unreadable(id, error),
  }
}

const ofOneRead = ({ action, code }: CloudError): Unreadable => ({
  because: `EC2 could not be read: ${action} failed with ${code}`,
  sinceMs: null,
})

function ofOutage(name: string, { error, sinceMs }: { error: CloudError; sinceMs: number }): Unreadable {
  const what = error.errorClass === 'auth' ? `AWS refuses ${error.action} (${error.code})` : 'does not answer'
  return { because: `${name} ${what} since ${toInstant(sinceMs)}`, sinceMs }
}
