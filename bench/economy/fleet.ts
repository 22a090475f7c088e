import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import { paused } from '@lcm/domain/worker/lifecycle'
import { CONDITION, type Worker, withCondition, withoutCondition, workerOfTemplate } from '@lcm/domain/worker/worker'
import { bootMs, FIRST_BOOT_MS, STOP_MS, TEMPLATE } from './cloud-times.ts'
import type { Playing } from './event-queue.ts'
import type { Boot } from './policy.ts'
import { HOUR_MS, LAB_SIZES, LABS, MINUTE_MS } from './trace.ts'

const REFUSED_SHARE = 0.02
const REFUSED_MS = 20 * MINUTE_MS
const SLOW_FACTOR = 2

export interface Faults {
  /** Whether EC2 refuses 2 % of all starts for 20 minutes. */
  readonly refusals: boolean
  /** The day on which boots take twice as long as before; null for none. */
  readonly slowDay: { readonly fromMs: number; readonly untilMs: number } | null
}
export const NO_FAULTS: Faults = { refusals: false, slowDay: null }

/** Hours that are billed, by what the machine does. */
export interface BilledHours {
  boot: number
  lab: number
  /** Capacity is reserved, but no lab runs yet. */
  reserved: number
  idle: number
}

interface Machine {
  worker: Worker
  isBilled: boolean
  labs: number
  /** Until when its hours are counted. */
  countedMs: number
  /** Changes with every start and stop, so that events of earlier ones are dropped. */
  cycle: number
}

/** The machines on virtual time, as worker documents. */
export interface Fleet {
  readonly workers: () => readonly Worker[]
  readonly worker: (id: string) => Worker
  readonly change: (id: string, change: (worker: Worker) => Worker) => void
  readonly labStarts: (id: string) => void
  readonly labEnds: (id: string) => void
  readonly buy: (id: string, sessionIds: readonly string[]) => void
  readonly wake: (id: string, sessionIds: readonly string[]) => void
  readonly stop: (id: string, because: Reason) => void
  readonly boots: () => readonly Boot[]
  readonly bill: () => { hours: BilledHours; boots: number; peak: number }
}

export interface FleetParts extends Playing {
  readonly faults: Faults
}

interface FleetState extends FleetParts {
  readonly machines: Map<string, Machine>
  readonly booted: Boot[]
  readonly hours: BilledHours
  started: number
  peak: number
}

export function fleet(parts: FleetParts): Fleet {
  const hours = { boot: 0, lab: 0, reserved: 0, idle: 0 }
  const state: FleetState = { ...parts, machines: new Map(), booted: [], hours, started: 0, peak: 0 }
  const changeLabs = (id: string, by: 1 | -1) => {
    const machine = machineOf(state, id)
    count(state, machine)
    machine.labs += by
  }
  return {
    workers: () => [...state.machines.values()].map(({ worker }) => worker),
    worker: id => machineOf(state, id).worker,
    change: (id, by) => change(state, machineOf(state, id), by(machineOf(state, id).worker)),
    labStarts: id => changeLabs(id, 1),
    labEnds: id => changeLabs(id, -1),
    buy: (id, sessionIds) => buy(state, id, sessionIds),
    wake: (id, sessionIds) => wake(state, machineOf(state, id), sessionIds),
    stop: (id, because) => stop(state, machineOf(state, id), because),
    boots: () => state.booted,
    bill: () => {
      for (const machine of state.machines.values()) count(state, machine)
      return { hours, boots: state.started, peak: state.peak }
    },
  }
}

function machineOf({ machines }: FleetState, id: string): Machine {
  const machine = machines.get(id)
  if (machine === undefined) throw new Error(`The policy named ${id}, which is no worker. Use the ids of the view.`)
  return machine
}

function count({ hours, now }: FleetState, machine: Machine): void {
  if (machine.isBilled) hours[causeOf(machine)] += (now() - machine.countedMs) / HOUR_MS
  machine.countedMs = now()
}

function change(state: FleetState, machine: Machine, to: Partial<Worker>): void {
  count(state, machine)
  const isMove = to.status !== undefined && to.status !== machine.worker.status
  const moved = isMove ? { entered_status_at: toInstant(state.now()) } : {}
  machine.worker = { ...machine.worker, ...to, ...moved }
}

function buy(state: FleetState, id: string, sessionIds: readonly string[]): void {
  const { machines, now } = state
  if (machines.has(id)) throw new Error(`The policy bought ${id} twice. Use a new id for each worker.`)
  const worker = workerOfTemplate(id, TEMPLATE, toInstant(now()))
  const placed = { ...worker, aws_region: REGION, wanted_by: [...sessionIds] }
  const machine = { worker: placed, isBilled: false, labs: 0, countedMs: now(), cycle: 0 }
  machines.set(id, machine)
  begin(state, machine, true)
}

function wake(state: FleetState, machine: Machine, sessionIds: readonly string[]): void {
  const { worker } = machine
  const wanted_by = [...new Set([...worker.wanted_by, ...sessionIds])]
  if (worker.desired_status === 'RUNNING') change(state, machine, { wanted_by })
  else {
    const pause = { ...worker.pause, reason: null, by: null, last_resumed_at: toInstant(state.now()) }
    change(state, machine, { desired_status: 'RUNNING', wanted_by, pause })
    if (worker.status === 'STOPPED') begin(state, machine, false)
  }
}

function stop(state: FleetState, machine: Machine, because: Reason): void {
  const { worker } = machine
  const { now, queue } = state
  if (Object.keys(worker.reservations).length > 0)
    throw new Error(`The policy stopped ${worker.name}, which has sessions. Stop only workers without reservations.`)
  if (worker.desired_status === 'STOPPED') return
  const stopped = { desired_status: 'STOPPED', status: 'STOPPING', service_status: 'UNAVAILABLE' } as const
  change(state, machine, { ...paused(worker, because, toInstant(now())), ...stopped, wanted_by: [], conditions: [] })
  machine.isBilled = false
  machine.cycle += 1
  const { cycle } = machine
  queue.at(now() + STOP_MS, () => {
    if (machine.cycle !== cycle) return
    change(state, machine, { status: 'STOPPED' })
    if (machine.worker.desired_status === 'RUNNING') begin(state, machine, false)
  })
}

/** Requests the start of a machine, which EC2 may refuse for a time. */
function begin(state: FleetState, machine: Machine, isFirst: boolean): void {
  const { queue, now, random, faults } = state
  machine.cycle += 1
  const { cycle } = machine
  const isRefused = faults.refusals && random.float() < REFUSED_SHARE
  if (!isRefused) launch(state, machine, isFirst)
  else {
    change(state, machine, { status: 'PROVISIONING', conditions: refused(machine.worker, now()) })
    queue.at(now() + REFUSED_MS, () => {
      if (machine.cycle === cycle) launch(state, machine, isFirst)
    })
  }
}

function launch(state: FleetState, machine: Machine, isFirst: boolean): void {
  const { queue, now } = state
  const { cycle } = machine
  const conditions = withoutCondition(machine.worker.conditions, CONDITION.blocked)
  change(state, machine, { status: 'STARTING', conditions })
  machine.isBilled = true
  state.started += 1
  state.peak = Math.max(state.peak, [...state.machines.values()].filter(({ isBilled }) => isBilled).length)
  const [startedMs, ms] = [now(), bootTime(state, isFirst)]
  queue.at(now() + ms, () => {
    if (machine.cycle !== cycle) return
    const cml = { ...machine.worker.cml, ...SERVING }
    change(state, machine, { status: 'RUNNING', service_status: 'AVAILABLE', cml })
    state.booted.push({ worker_id: machine.worker.id, startedMs, ms, isFirst })
  })
}

function bootTime({ faults: { slowDay }, now, random }: FleetState, isFirst: boolean): number {
  const isSlow = slowDay !== null && now() >= slowDay.fromMs && now() < slowDay.untilMs
  return (bootMs(random) + (isFirst ? FIRST_BOOT_MS : 0)) * (isSlow ? SLOW_FACTOR : 1)
}

export const REGION = 'us-east-1'
const SERVING = { version: '2.9.1', ready: true, node_definitions: LAB_SIZES.flatMap(size => LABS[size].nodes) }

function causeOf({ worker, labs }: Machine): keyof BilledHours {
  if (worker.status !== 'RUNNING') return 'boot'
  if (labs > 0) return 'lab'
  return Object.keys(worker.reservations).length > 0 ? 'reserved' : 'idle'
}

const refused = ({ conditions }: Worker, nowMs: number) =>
  withCondition(
    conditions,
    {
      type: CONDITION.blocked,
      status: true,
      reason: reason('ec2_no_capacity', {
        action: 'start',
        instance_types: TEMPLATE.instance_types,
        locations: [REGION],
        aws_code: 'InsufficientInstanceCapacity',
        retry_minutes: 3,
      }),
    },
    nowMs,
  )
