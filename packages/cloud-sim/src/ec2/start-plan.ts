import { type SecondsRange, within } from '../seeded-random.ts'
import type { SimState } from '../sim-state.ts'
import { bootPlan } from './boot-plan.ts'
import type { ScheduledEvent, SimInstance, StateMoment, StateReason } from './instance.ts'
import { isMetal } from './regions-and-instance-types.ts'

const PENDING: SecondsRange = [30, 90]
const RETIRED_AFTER: SecondsRange = [3600, 4 * 3600]
const SCHEDULED_STOP: SecondsRange = [30, 60]

export const DEATHS_IN_PENDING: readonly StateReason[] = [
  {
    code: 'Server.InsufficientInstanceCapacity',
    message: 'Server.InsufficientInstanceCapacity: There was insufficient capacity available to satisfy the request.',
  },
  { code: 'Client.InternalError', message: 'Client.InternalError: Client error on launch' },
]

const BY_SCHEDULE: StateReason = {
  code: 'Server.ScheduledStop',
  message: 'Server.ScheduledStop: Stopped due to a scheduled retirement',
}

export type StartPlan = Pick<SimInstance, 'started_at_ms' | 'start_count' | 'address_number' | 'timeline' | 'boot'> &
  Partial<Pick<SimInstance, 'fades_at_ms' | 'tags_fade_at_ms' | 'event'>>

type Starting = Pick<SimInstance, 'number' | 'instance_type' | 'start_count'>

/**
 * Timeline of a machine that starts now, for the first time or again. `ahead` counts earlier starts of the same call.
 */
export function startPlan(sim: SimState, machine: Starting, ahead: number): StartPlan {
  const { number, start_count } = machine
  const plan = { started_at_ms: sim.now(), start_count, address_number: sim.addressAhead(ahead) }
  const { pending_death_rate, retirement_rate } = sim.faults.plan()
  const runningMs = sim.now() + scaled(sim, drawn(sim, machine, { name: 'pending', range: PENDING }))
  if (sim.chance.fraction('dies', number, start_count) < pending_death_rate) {
    return { ...plan, ...dyingPlan(sim, machine, runningMs) }
  }
  const boot = bootPlan({
    running_from_ms: runningMs,
    metal: isMetal(machine.instance_type),
    first: start_count === 1,
    speed: sim.speed,
    fraction: step => sim.chance.fraction('boot', number, start_count, step),
  })
  const alive = { ...plan, timeline: [pendingNow(sim), moment('running', runningMs)], boot }
  if (sim.chance.fraction('retires', number, start_count) >= retirement_rate) return alive
  const afterS = drawn(sim, machine, { name: 'retired', range: RETIRED_AFTER })
  return { ...alive, ...retirementPlan(sim, { ...machine, ...alive }, runningMs + scaled(sim, afterS)) }
}

const moment = (state: StateMoment['state'], from_ms: number, reason: StateReason | null = null): StateMoment => ({
  state,
  from_ms,
  reason,
})

const pendingNow = (sim: SimState) => moment('pending', sim.now())

function drawn(
  sim: SimState,
  machine: Starting,
  { name, range }: { readonly name: string; readonly range: SecondsRange },
) {
  return within(range, sim.chance.fraction(name, machine.number, machine.start_count))
}

/** A failed launch ends terminated; a machine that had run before returns to stopped. */
function dyingPlan(sim: SimState, { number, start_count }: Starting, atMs: number) {
  const which = Math.floor(sim.chance.fraction('death', number, start_count) * DEATHS_IN_PENDING.length)
  const reason = DEATHS_IN_PENDING[which] ?? null
  const end = moment(start_count === 1 ? 'terminated' : 'stopped', atMs, reason)
  return {
    timeline: [pendingNow(sim), end],
    boot: [{ stage: 'NOTHING' as const, from_ms: sim.now() }],
    ...(start_count === 1 ? fading(sim, atMs) : {}),
  }
}

/** When a terminated machine loses its tags and disappears. */
export function fading(sim: SimState, deadFromMs: number): { fades_at_ms: number; tags_fade_at_ms: number } {
  const { terminated_shown_s, terminated_tags_s } = sim.faults.plan()
  return {
    fades_at_ms: deadFromMs + scaled(sim, terminated_shown_s),
    tags_fade_at_ms: deadFromMs + scaled(sim, terminated_tags_s),
  }
}

type Retiring = Pick<SimInstance, 'number' | 'start_count' | 'timeline' | 'boot'>

/** EC2 announces that it will stop the machine at `atMs`, and stops it. */
export function retirementPlan(sim: SimState, machine: Retiring, atMs: number) {
  const stopS = within(SCHEDULED_STOP, sim.chance.fraction('scheduled-stop', machine.number, machine.start_count))
  const event: ScheduledEvent = {
    event_id: `instance-event-0${sim.chance.hex(16, 'event', machine.number, machine.start_count)}`,
    code: 'instance-stop',
    not_before_ms: atMs,
    completed_at_ms: null,
  }
  const earlier = <M extends { readonly from_ms: number }>(moments: readonly M[]) =>
    moments.filter(({ from_ms }) => from_ms < atMs)
  return {
    event,
    timeline: [
      ...earlier(machine.timeline),
      moment('stopping', atMs, BY_SCHEDULE),
      moment('stopped', atMs + scaled(sim, stopS), BY_SCHEDULE),
    ],
    boot: [...earlier(machine.boot), { stage: 'NOTHING' as const, from_ms: atMs }],
  }
}

export const scaled = (sim: Pick<SimState, 'speed'>, seconds: number): number =>
  Math.round((seconds * 1000) / sim.speed)
