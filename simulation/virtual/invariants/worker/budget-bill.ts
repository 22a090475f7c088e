import type { SimModel } from '@lcm/cloud-sim/sim-model'
import { toInstant, toMs } from '@lcm/domain/instant'
import { isOver, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Mutation } from '../cloud-mutation.ts'
import type { RequestedState } from '../requested-state-record.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Machines are read once a minute, and start up to a minute after their budget was checked. */
const TOLERANCE_USD = 0.5

interface BudgetParts {
  readonly cloud: SimModel
  readonly latest: ReadonlyMap<string, Worker>
  readonly sessions: ReadonlyMap<string, LabletSession>
  readonly requested: RequestedState
  now(): number
}

/**
 * The bill of the cloud for machines, by the hours that they run there, and the machines that LCM starts by itself although that bill
 * and what is booked on running machines exceed the budget of the day.
 */
export function budgetBill({ cloud, latest, sessions, requested, now }: BudgetParts) {
  const billed = new Map<number, number>()
  let readMs = now()
  const isBilled = ({ ec2_instance_id }: Worker): boolean =>
    ec2_instance_id !== null && cloud.machine(ec2_instance_id)?.state === 'running'

  function bookedUntil({ reservations, wanted_by }: Worker): number {
    const ends = [...Object.keys(reservations), ...wanted_by].flatMap(id => {
      const session = sessions.get(id)
      return session === undefined || isOver(session) ? [] : [toMs(session.timeslot.end)]
    })
    return Math.max(now(), ...ends)
  }

  function usdBooked(worker: Worker, dayEndMs: number): number {
    const untilMs = Math.min(dayEndMs, bookedUntil(worker))
    return ((worker.cost_per_hour_usd ?? 0) * (untilMs - now())) / HOUR_MS
  }

  return {
    step(): void {
      const day = Math.floor(readMs / DAY_MS)
      const hours = (now() - readMs) / HOUR_MS
      readMs = now()
      for (const worker of latest.values())
        if (isBilled(worker)) billed.set(day, (billed.get(day) ?? 0) + hours * (worker.cost_per_hour_usd ?? 0))
    },
    /** Called for every start of a machine. */
    started({ act, worker: id }: Pick<Mutation, 'act' | 'worker'>): string[] {
      const worker = latest.get(id ?? '')
      if ((act !== 'launch' && act !== 'start') || worker === undefined || worker.wanted_by.length === 0) return []
      const budget = Math.max(
        ...requested.settings
          .valuesAt('budget_usd_per_day', now())
          .map(each => (each === 'off' ? Number.POSITIVE_INFINITY : each)),
      )
      const day = Math.floor(now() / DAY_MS)
      const spent = billed.get(day) ?? 0
      const machines = [worker, ...[...latest.values()].filter(each => each.id !== worker.id && isBilled(each))]
      const booked = machines.reduce((sum, each) => sum + usdBooked(each, (day + 1) * DAY_MS), 0)
      if (spent + booked <= budget + TOLERANCE_USD) return []
      const sums = `${spent.toFixed(2)} USD are billed and ${booked.toFixed(2)} booked`
      return [`${worker.name} is started by LCM although ${sums} on ${toInstant(now()).slice(0, 10)}, of ${budget}`]
    },
  }
}
