import type { Span } from './span.ts'

/** What a machine has, and what a session takes of it. */
export interface Amounts {
  readonly cpu_cores: number
  readonly memory_gb: number
  readonly storage_gb: number
  readonly nodes: number
  readonly ports: number
}

const RESOURCES = ['cpu_cores', 'memory_gb', 'storage_gb', 'nodes', 'ports'] as const
const WIDTH = RESOURCES.length
/** Sums of decimals differ by less. */
const ROUNDING = 1e-6

/** One machine: how much of it is in use from each moment to the next. Before the first moment nothing is. */
export interface MachineCalendar {
  readonly limits: Amounts
  /** The machine is awake until then without any use; minus infinity if it sleeps. */
  readonly awakeUntilMs: number
  readonly momentsMs: number[]
  /** How many uses there are from each moment on. */
  readonly counts: number[]
  /** As many numbers for each moment as there are resources. */
  readonly used: number[]
}

export const machineCalendar = (limits: Amounts, awakeUntilMs: number = Number.NEGATIVE_INFINITY): MachineCalendar => ({
  limits,
  awakeUntilMs,
  momentsMs: [],
  counts: [],
  used: [],
})

export const copied = ({ momentsMs, counts, used, ...rest }: MachineCalendar): MachineCalendar => ({
  ...rest,
  momentsMs: [...momentsMs],
  counts: [...counts],
  used: [...used],
})

/** Capacity is used even if there is too little: a machine may be overfull. */
export const put = (calendar: MachineCalendar, span: Span, use: Amounts): void => change(calendar, span, use, 1)

/** The span and the use must be those that were put. */
export const remove = (calendar: MachineCalendar, span: Span, use: Amounts): void => change(calendar, span, use, -1)

function change(calendar: MachineCalendar, { fromMs, untilMs }: Span, use: Amounts, by: 1 | -1): void {
  if (untilMs <= fromMs) return
  const { counts, used } = calendar
  const from = splitAt(calendar, fromMs)
  const until = splitAt(calendar, untilMs)
  for (let at = from; at < until; at += 1) {
    const count = (counts[at] ?? 0) + by
    counts[at] = count
    for (const [resource, name] of RESOURCES.entries()) {
      const slot = at * WIDTH + resource
      used[slot] = count === 0 ? 0 : (used[slot] ?? 0) + by * use[name]
    }
  }
  if (by === -1) {
    joinAt(calendar, until)
    joinAt(calendar, from)
  }
}

/** The position of the moment, which is added if there is none. */
function splitAt({ momentsMs, counts, used }: MachineCalendar, ms: number): number {
  const at = positionAt(momentsMs, ms)
  if (momentsMs[at] === ms) return at
  const next = at + 1
  momentsMs.splice(next, 0, ms)
  counts.splice(next, 0, counts[at] ?? 0)
  used.splice(next * WIDTH, 0, ...RESOURCES.map((_, resource) => used[at * WIDTH + resource] ?? 0))
  return next
}

/** Drops a moment at which nothing changes. */
function joinAt({ momentsMs, counts, used }: MachineCalendar, at: number): void {
  const isSame =
    (counts[at - 1] ?? 0) === counts[at] &&
    RESOURCES.every((_, n) => Math.abs((used[(at - 1) * WIDTH + n] ?? 0) - (used[at * WIDTH + n] ?? 0)) < ROUNDING)
  if (!isSame) return
  momentsMs.splice(at, 1)
  counts.splice(at, 1)
  used.splice(at * WIDTH, WIDTH)
}

/** The last moment at or before the time; -1 before the first. */
function positionAt(momentsMs: readonly number[], ms: number): number {
  let [low, high] = [0, momentsMs.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((momentsMs[middle] ?? 0) <= ms) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Whether the use fits beside all others at each moment of the span. */
export function fits({ limits, momentsMs, used }: MachineCalendar, { fromMs, untilMs }: Span, use: Amounts): boolean {
  const cpu = limits.cpu_cores - use.cpu_cores + ROUNDING
  const memory = limits.memory_gb - use.memory_gb + ROUNDING
  const storage = limits.storage_gb - use.storage_gb + ROUNDING
  const nodes = limits.nodes - use.nodes
  const ports = limits.ports - use.ports
  if (cpu < 0 || memory < 0 || storage < 0 || nodes < 0 || ports < 0) return false
  const first = Math.max(0, positionAt(momentsMs, fromMs))
  for (let at = first; at < momentsMs.length && (momentsMs[at] ?? 0) < untilMs; at += 1) {
    const slot = at * WIDTH
    if (
      (used[slot] ?? 0) > cpu ||
      (used[slot + 1] ?? 0) > memory ||
      (used[slot + 2] ?? 0) > storage ||
      (used[slot + 3] ?? 0) > nodes ||
      (used[slot + 4] ?? 0) > ports
    )
      return false
  }
  return true
}

/** The most that is in use of each resource within the span. */
export function peakOver({ momentsMs, used }: MachineCalendar, { fromMs, untilMs }: Span): Amounts {
  const peak = { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0, ports: 0 }
  for (
    let at = Math.max(0, positionAt(momentsMs, fromMs));
    at < momentsMs.length && (momentsMs[at] ?? 0) < untilMs;
    at += 1
  )
    for (const [resource, name] of RESOURCES.entries())
      peak[name] = Math.max(peak[name], used[at * WIDTH + resource] ?? 0)
  return peak
}

/** When the machine is in use, without the pauses between. */
export function busySpans({ momentsMs, counts }: MachineCalendar): Span[] {
  const spans: Span[] = []
  for (const [at, fromMs] of momentsMs.entries()) {
    if (counts[at] === 0) continue
    const untilMs = momentsMs[at + 1] ?? Number.POSITIVE_INFINITY
    const last = spans.at(-1)
    if (last?.untilMs === fromMs) spans[spans.length - 1] = { ...last, untilMs }
    else spans.push({ fromMs, untilMs })
  }
  return spans
}

/** What a sleep costs in machine time. */
export interface SleepTimes {
  /** From the start of the machine until it may be used. It is billed meanwhile. */
  readonly wakeMs: number
  /** Until a stopping machine may start again, which is not billed. */
  readonly stopMs: number
}

/** The machine time of a pause: the machine stays awake, or it sleeps and is woken, whichever is less. */
export const pauseMs = ({ wakeMs, stopMs }: SleepTimes, pause: number): number =>
  pause < wakeMs + stopMs ? pause : Math.min(pause, wakeMs)

/** The machine time that one more use adds: the time that it is awake for it alone, and how the pauses around it change. */
export function addedMs({ momentsMs, counts, awakeUntilMs }: MachineCalendar, span: Span, times: SleepTimes): number {
  let at = positionAt(momentsMs, span.fromMs)
  while (at >= 0 && counts[at] === 0) at -= 1
  const endOf = (use: number) => momentsMs[use + 1] ?? Number.POSITIVE_INFINITY
  let awakeMs = at < 0 ? awakeUntilMs : Math.max(awakeUntilMs, endOf(at))
  let added = 0
  for (at += 1; awakeMs < span.untilMs; at += 1) {
    if (counts[at] === 0) continue
    const untilMs = momentsMs[at] ?? Number.POSITIVE_INFINITY
    if (untilMs > awakeMs) added += addedInPause(span, { fromMs: awakeMs, untilMs }, times)
    awakeMs = Math.max(awakeMs, endOf(at))
  }
  return added
}

function addedInPause(span: Span, pause: Span, times: SleepTimes): number {
  const [fromMs, untilMs] = [Math.max(span.fromMs, pause.fromMs), Math.min(span.untilMs, pause.untilMs)]
  if (untilMs <= fromMs) return 0
  const isLast = pause.untilMs === Number.POSITIVE_INFINITY
  const before = pauseMs(times, fromMs - pause.fromMs)
  const after = isLast ? 0 : pauseMs(times, pause.untilMs - untilMs)
  return untilMs - fromMs + before + after - (isLast ? 0 : pauseMs(times, pause.untilMs - pause.fromMs))
}

/** The machine time of all uses: the time in use, and the pauses before and between. */
export function totalMs(calendar: MachineCalendar, times: SleepTimes): number {
  let [total, lastMs] = [0, calendar.awakeUntilMs]
  for (const { fromMs, untilMs } of busySpans(calendar)) {
    total += pauseMs(times, Math.max(0, fromMs - lastMs)) + untilMs - Math.max(fromMs, Math.min(lastMs, untilMs))
    lastMs = Math.max(lastMs, untilMs)
  }
  return total
}
