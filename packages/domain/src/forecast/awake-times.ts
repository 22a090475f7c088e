import type { Span } from '../calendar/span.ts'
import type { BootTime } from '../calendar/timings.ts'
import { toMs } from '../instant.ts'
import type { PlannedStep } from '../plan/plan.ts'
import { type AwakeTime, joined, type MachineMark, type MachineUse } from './machine-use.ts'

export interface MachineStart {
  readonly nowMs: number
  readonly untilMs: number
  /** When its CML serves; null if it is stopped or not bought yet. */
  readonly servesMs: number | null
  /** When it was last used, or since when it serves. */
  readonly lastUseMs: number
  readonly boot: BootTime
  /** Null for a worker that has a machine. */
  readonly firstBoot: BootTime | null
}

export type Wakefulness = Pick<MachineUse, 'awake' | 'marks'>

/** A machine that follows the steps of its plan, but is not stopped while it boots, or before `keptUntilMs`. */
export function awakeByPlan(steps: readonly PlannedStep[], start: MachineStart, keptUntilMs = 0): Wakefulness {
  const { nowMs, untilMs, servesMs, boot, firstBoot } = start
  const awake: AwakeTime[] = []
  const marks: MachineMark[] = []
  let open = servesMs === null ? null : { fromMs: nowMs, servesMs }
  for (const [index, { kind, at }] of steps.entries()) {
    const atMs = Math.max(nowMs, toMs(at), isStart(kind) ? 0 : keptUntilMs, isStart(kind) ? 0 : (open?.servesMs ?? 0))
    if (kind === 'stay' || atMs >= untilMs) continue
    if (isStart(kind)) {
      if (open !== null) continue
      const { meanMs } = kind === 'buy' ? (firstBoot ?? boot) : boot
      open = { fromMs: atMs, servesMs: atMs + meanMs }
    } else if (open !== null) {
      const next = steps.slice(index + 1).find(each => isStart(each.kind))
      if (next !== undefined && toMs(next.at) <= atMs) continue
      awake.push({ ...open, untilMs: atMs })
      open = null
    }
    marks.push({ kind, atMs })
  }
  if (open !== null) awake.push({ ...open, untilMs })
  return { awake, marks }
}

const isStart = (kind: PlannedStep['kind']): kind is 'wake' | 'buy' => kind === 'wake' || kind === 'buy'

/** A machine that is stopped once it was not used for so long, and woken for its next use as the plan would. */
export function awakeByTimeout(uses: readonly Span[], timeoutMs: number, start: MachineStart): Wakefulness {
  const { nowMs, untilMs, boot } = start
  const awake: AwakeTime[] = []
  const marks: MachineMark[] = []
  let { servesMs, firstBoot } = start
  let [fromMs, usedMs] = [nowMs, start.lastUseMs]
  const stopBefore = (nextMs: number) => {
    const stopMs = Math.max(nowMs, usedMs + timeoutMs)
    if (servesMs === null || stopMs >= nextMs) return
    awake.push({ fromMs, servesMs, untilMs: stopMs })
    marks.push({ kind: 'stop', atMs: stopMs })
    servesMs = null
  }
  for (const use of joined(uses)) {
    const { meanMs, wakeMs } = firstBoot ?? boot
    const wakeAtMs = Math.max(nowMs, use.fromMs - wakeMs)
    if (wakeAtMs >= untilMs) break
    stopBefore(wakeAtMs)
    if (servesMs === null) {
      fromMs = wakeAtMs
      servesMs = wakeAtMs + meanMs
      usedMs = servesMs
      marks.push({ kind: firstBoot === null ? 'wake' : 'buy', atMs: wakeAtMs })
      firstBoot = null
    }
    usedMs = Math.max(usedMs, use.untilMs)
  }
  stopBefore(untilMs)
  if (servesMs !== null) awake.push({ fromMs, servesMs, untilMs })
  return { awake, marks }
}

/** Leaves out stops that would leave fewer machines running than `minWorkers`: their machines run on. */
export function withMinimum<M extends Wakefulness>(machines: readonly M[], minWorkers: number, untilMs: number): M[] {
  if (minWorkers === 0) return [...machines]
  const running = machines.map(({ awake, marks }) => ({ awake: [...awake], marks: [...marks] }))
  const stops = running.flatMap(machine =>
    machine.awake.filter(time => time.untilMs < untilMs).map(time => ({ machine, stopMs: time.untilMs })),
  )
  for (const { machine, stopMs } of stops.sort((a, b) => a.stopMs - b.stopMs)) {
    const others = running.filter(each => each !== machine && isAwakeAt(each, stopMs)).length
    if (others < minWorkers) runOn(machine, stopMs, untilMs)
  }
  return machines.map((machine, at) => ({ ...machine, ...running[at] }))
}

const isAwakeAt = ({ awake }: Wakefulness, ms: number): boolean =>
  awake.some(({ fromMs, untilMs }) => fromMs <= ms && ms < untilMs)

function runOn(machine: { awake: AwakeTime[]; marks: MachineMark[] }, stopMs: number, untilMs: number): void {
  const at = machine.awake.findIndex(time => time.untilMs === stopMs)
  const [stopped, next] = machine.awake.slice(at, at + 2)
  if (stopped === undefined) return
  machine.awake.splice(at, 2, { ...stopped, untilMs: next?.untilMs ?? untilMs })
  const isLeftOut = ({ atMs }: MachineMark) => atMs >= stopMs && atMs <= (next?.fromMs ?? untilMs)
  machine.marks = machine.marks.filter(mark => !isLeftOut(mark))
}
