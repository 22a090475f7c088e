import type { StateChange, WorkerStatus } from '@lcm/domain/worker/worker'

/** Positions on a grid: first row starting up, second row failures and idle states, third row shutting down. */
const POSITIONS: Readonly<Record<WorkerStatus, readonly [column: number, row: number]>> = {
  PENDING: [0, 0],
  PROVISIONING: [1, 0],
  STARTING: [2, 0],
  RUNNING: [3, 0],
  UNKNOWN: [0, 1],
  FAILED: [1, 1],
  STOPPED: [2, 1],
  DRAINING: [3, 1],
  TERMINATED: [1, 2],
  TERMINATING: [2, 2],
  STOPPING: [3, 2],
}

/** Usual transitions. Others, mostly from drift, are drawn only after a worker has made them. */
const USUAL_MOVES: readonly (readonly [WorkerStatus, WorkerStatus])[] = [
  ['PENDING', 'PROVISIONING'],
  ['PROVISIONING', 'STARTING'],
  ['STARTING', 'RUNNING'],
  ['RUNNING', 'DRAINING'],
  ['DRAINING', 'RUNNING'],
  ['RUNNING', 'STOPPING'],
  ['DRAINING', 'STOPPING'],
  ['STOPPING', 'STOPPED'],
  ['STOPPED', 'STARTING'],
  ['STOPPED', 'TERMINATING'],
  ['RUNNING', 'TERMINATING'],
  ['TERMINATING', 'TERMINATED'],
  ['PROVISIONING', 'FAILED'],
  ['STARTING', 'FAILED'],
  ['FAILED', 'STARTING'],
  ['FAILED', 'TERMINATING'],
]

export const BOX = { width: 132, height: 34 } as const
const PITCH = { x: 192, y: 96 } as const
/** Space for lines that bend around the outer boxes. */
const MARGIN = { x: 56, y: 16 } as const
export const DIAGRAM = {
  width: 3 * PITCH.x + BOX.width + 2 * MARGIN.x,
  height: 2 * PITCH.y + BOX.height + 2 * MARGIN.y,
} as const

interface Point {
  readonly x: number
  readonly y: number
}

export interface DrawnStatus extends Point {
  readonly status: WorkerStatus
  readonly state: 'now' | 'visited' | 'ahead'
}

export interface DrawnMove {
  readonly from: WorkerStatus
  readonly to: WorkerStatus
  readonly path: string
  /** Step numbers of this transition, from 1; empty if it never happened. */
  readonly steps: readonly number[]
  readonly isNewest: boolean
  /** Position of its step number. */
  readonly middle: Point
}

export interface Lifecycle {
  readonly statuses: readonly DrawnStatus[]
  /** Transitions that happened come last, so that they are drawn on top. */
  readonly moves: readonly DrawnMove[]
}

const centerOf = (status: WorkerStatus): Point => {
  const [column, row] = POSITIONS[status]
  return { x: MARGIN.x + BOX.width / 2 + column * PITCH.x, y: MARGIN.y + BOX.height / 2 + row * PITCH.y }
}

/** `history` is oldest first. */
export function lifecycleOf(now: WorkerStatus, history: readonly StateChange[]): Lifecycle {
  const stepsOf = new Map<string, number[]>()
  history.forEach(({ from, to }, index) => {
    if (from !== null && from !== to) stepsOf.set(`${from} ${to}`, [...(stepsOf.get(`${from} ${to}`) ?? []), index + 1])
  })
  const visited = new Set(history.flatMap(({ from, to }) => (from === null ? [to] : [from, to])))
  const newest = history.at(-1)
  const usual = USUAL_MOVES.map(([from, to]) => `${from} ${to}`)
  const moves = [...usual.filter(key => !stepsOf.has(key)), ...stepsOf.keys()].map(key => {
    const [from, to] = key.split(' ') as [WorkerStatus, WorkerStatus]
    const isNewest = newest !== undefined && newest.from === from && newest.to === to
    return { from, to, steps: stepsOf.get(key) ?? [], isNewest, ...lineOf(from, to) }
  })
  const statuses = (Object.keys(POSITIONS) as WorkerStatus[]).map(status => ({
    status,
    state: status === now ? ('now' as const) : visited.has(status) ? ('visited' as const) : ('ahead' as const),
    ...centerOf(status),
  }))
  return { statuses, moves }
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** Offset to the right, so that opposite transitions are two lines. */
const KEEP_RIGHT = 7
/** Bend around a box in between: boxes are wide but not high. */
const BEND_SIDEWAYS = 92
const BEND_UPWARDS = 48

/** Line from box to box: straight, or bent around a box in between. */
function lineOf(from: WorkerStatus, to: WorkerStatus): { path: string; middle: Point } {
  const [a, b] = [centerOf(from), centerOf(to)]
  const [dx, dy] = [b.x - a.x, b.y - a.y]
  const length = Math.hypot(dx, dy)
  const right = { x: -dy / length, y: dx / length }
  const [columns, rows] = [Math.abs(Math.round(dx / PITCH.x)), Math.abs(Math.round(dy / PITCH.y))]
  const isBlocked = gcd(columns, rows) > 1
  const reach = columns === 0 ? BEND_SIDEWAYS : BEND_UPWARDS
  const bend = isBlocked ? reach * (rows === 0 ? -1 : 1) * bendSide(a, right) : 0
  const shift = isBlocked ? 0 : KEEP_RIGHT
  const shifted = (point: Point, by: number): Point => ({ x: point.x + right.x * by, y: point.y + right.y * by })
  const [start, end] = [shifted(a, shift), shifted(b, shift)]
  const control = shifted({ x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 }, bend * 2)
  const [first, last] = [borderOf(a, start, control), borderOf(b, end, control)]
  const middle = { x: (first.x + 2 * control.x + last.x) / 4, y: (first.y + 2 * control.y + last.y) / 4 }
  return { path: `M${text(first)}Q${text(control)} ${text(last)}`, middle: isBlocked ? middle : halfway(first, last) }
}

const halfway = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 })

/** Bends outwards, away from the middle of the diagram. Within a row there is space only inwards. */
function bendSide(from: Point, right: Point): 1 | -1 {
  const outwards = (from.x - DIAGRAM.width / 2) * right.x + (from.y - DIAGRAM.height / 2) * right.y
  return outwards >= 0 ? 1 : -1
}

/** Point where the line from `inside` to `outside` leaves the box. */
function borderOf(center: Point, inside: Point, outside: Point): Point {
  const [dx, dy] = [outside.x - inside.x, outside.y - inside.y]
  const along = (d: number, offset: number, half: number) =>
    d === 0 ? Number.POSITIVE_INFINITY : (Math.sign(d) * half - offset) / d
  const t = Math.min(along(dx, inside.x - center.x, BOX.width / 2), along(dy, inside.y - center.y, BOX.height / 2))
  return { x: inside.x + dx * t, y: inside.y + dy * t }
}

const text = ({ x, y }: Point): string => `${x.toFixed(1)} ${y.toFixed(1)}`

/** Newest step number, and how often the transition happened. */
export const stepsText = (steps: readonly number[]): string =>
  `${steps.at(-1) ?? ''}${steps.length > 1 ? ` ×${steps.length}` : ''}`

/** Text alternative of the diagram. The list has the reasons. */
export function lifecycleText(now: WorkerStatus, history: readonly StateChange[]): string {
  const way = history.map(({ to }) => to)
  const path = way.length === 0 ? '' : ` History: ${way.join(', ')}.`
  return `Lifecycle: now ${now}.${path}`
}
