import type { SimModel } from '@lcm/cloud-sim/sim-model'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { allowedLosses } from '@lcm/domain/fleet/machine-loss-limit'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Collection } from '@lcm/store/store'
import { MINUTE_MS } from '../../world/durations.ts'

/**
 * A settled worker is polled every ten minutes, and a missing machine must be missing twice; the rest is for a storm in between.
 */
const NOTICED_MS_MAX = 30 * MINUTE_MS
/** Of many machines that vanish within an hour, the last are confirmed as gone only after it. */
const BRAKE_MS = 60 * MINUTE_MS

export interface LostLicenseParts {
  readonly cloud: SimModel
  readonly workers: Collection<Worker>
  readonly leaks: Collection<LicenseLeak>
  now(): number
}

export interface LostLicenses {
  /** Records when machines vanish, because the cloud soon forgets it. */
  step(machines: Iterable<string>): void
  /** Licenses that the Smart Account counts for no worker and that should be recorded by now. */
  unrecorded(): Promise<readonly string[]>
  /** The same at the end of a run, when no response is outstanding. */
  unrecordedAtEnd(): Promise<readonly string[]>
  /** The same without a grace period, for a settled system. */
  unrecordedWhenSettled(): Promise<readonly string[]>
}

/** A license that the Smart Account counts for a vanished machine is recorded as lost. */
export function lostLicenses({ cloud, workers, leaks, now }: LostLicenseParts): LostLicenses {
  const goneMs = new Map<string, number>()
  const leftMs = new Map<string, number>()

  function isGone(machine: string): boolean {
    const view = cloud.machine(machine)
    return view === null || view.state === 'terminated'
  }

  /** Longer when so many machines vanished that the limit delays the last of them. */
  function graceMs(): number {
    const recent = [...goneMs.values()].filter(at => now() - at < BRAKE_MS + NOTICED_MS_MAX).length
    return recent > allowedLosses(0) ? BRAKE_MS + NOTICED_MS_MAX : NOTICED_MS_MAX
  }

  const isLasting = (sinceMs: number | undefined, leastMs: number) => now() - (sinceMs ?? now()) >= leastMs

  async function lostFor(goneMsLeast: number, leftMsLeast: number): Promise<string[]> {
    const lost: string[] = []
    for (const { instance_id: machine, left_behind } of cloud.cml.smartAccount()) {
      const isLost = isGone(machine) && isLasting(goneMs.get(machine), goneMsLeast)
      const isLeft = left_behind && isLasting(leftMs.get(machine), leftMsLeast)
      if (!isLost && !isLeft) continue
      const [worker] = await workers.list({ where: { ec2_instance_id: machine }, limit: 1 })
      const [leak] = worker ? await leaks.list({ where: { worker_id: worker.id }, limit: 1 }) : []
      if (leak === undefined) lost.push(`the license of ${worker?.name ?? machine} is lost without a record`)
    }
    return lost
  }

  return {
    step(machines) {
      for (const machine of machines) if (!goneMs.has(machine) && isGone(machine)) goneMs.set(machine, now())
      for (const { instance_id: machine, left_behind } of cloud.cml.smartAccount())
        if (left_behind && !leftMs.has(machine)) leftMs.set(machine, now())
    },
    unrecorded: () => lostFor(graceMs(), NOTICED_MS_MAX),
    unrecordedAtEnd: () => lostFor(graceMs(), 0),
    unrecordedWhenSettled: () => lostFor(0, 0),
  }
}
