import type { Client } from '@lcm/client/client'
import type { Clock } from '@lcm/runtime/clock'
import { isPassing } from '../cli-error.ts'
import type { Keys } from '../command-dependencies.ts'
import { follow, type Notice } from '../follow-events.ts'
import { isInterrupt } from '../terminal/keyboard.ts'
import type { Output } from '../terminal/output.ts'
import { openScreen } from '../terminal/screen.ts'
import { type FleetSnapshot, fleetSnapshot } from './fleet-snapshot.ts'
import { BETWEEN, footNotes, headLines, NO_WORKERS, type Sort, topOf, topTable } from './top-view.ts'

export interface LiveTop {
  readonly client: Client
  readonly clock: Clock
  /** Aborts on Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal
  readonly output: Output
  readonly keys: Keys | null
  readonly sort: Sort
}

const FRAME_MS = 500
const SORT_KEYS: Readonly<Record<string, Sort>> = { c: 'cpu', m: 'memory', $: 'cost', i: 'idle', n: 'name' }
const SORT_HELP = 'sort: c cpu, m memory, $ cost, i idle, n name'
const HELP_WIDTH = 110

interface View {
  readonly picture: FleetSnapshot
  sort: Sort
  isStale: boolean
}

/** Shows the fleet on the whole terminal until the user quits. Rejects if the first read fails. */
export async function liveTop(top: LiveTop): Promise<void> {
  const { client, clock, output, signal } = top
  const view: View = { picture: fleetSnapshot(), sort: top.sort, isStale: false }
  await view.picture.refresh(client, signal)
  const left = new AbortController()
  const leave = () => left.abort()
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  const screen = openScreen(output.stdout)
  const draw = () => screen.draw(frame(view, output, clock.now()))
  let cancel: () => void = () => undefined
  const tick = () => {
    draw()
    cancel = clock.after(FRAME_MS, tick)
  }
  const stopKeys = top.keys?.(text => {
    if (isInterrupt(text) || text.includes('q')) return leave()
    view.sort = SORT_KEYS[text] ?? view.sort
    draw()
  })
  try {
    tick()
    for await (const notice of follow({ client, clock, signal: left.signal }))
      await take(notice, view, top, left.signal)
  } finally {
    cancel()
    stopKeys?.()
    screen.close()
    signal.removeEventListener('abort', leave)
  }
}

async function take(notice: Notice, view: View, { client }: LiveTop, signal: AbortSignal): Promise<void> {
  if (notice.kind === 'event') return view.picture.apply(notice.event)
  if (notice.kind === 'broken') return
  try {
    await view.picture.refresh(client, signal)
    view.isStale = false
  } catch (error) {
    if (signal.aborted) return
    if (!isPassing(error)) throw error
    view.isStale = true
  }
}

/** The head, as many rows as fit, and a foot line with the keys. */
function frame(view: View, { stdout: { rows: height, columns: width }, colors }: Output, nowMs: number): string[] {
  const top = topOf(view.picture, view.sort, nowMs)
  const head = headLines(top, width).map(line => colors.bold(line))
  const notes = footNotes(top)
  const shown = height === 0 ? top.items.length : Math.max(1, height - head.length - notes.length - OTHER_LINES)
  const foot = footLine({ ...view, hidden: top.items.length - shown }, colors, width)
  if (top.items.length === 0) return [...head, '', NO_WORKERS, foot]
  const [titles = '', ...rows] = topTable(top.items.slice(0, shown), colors, width)
  return [...head, '', colors.dim(titles), ...rows, ...notes.map(note => colors.dim(note)), foot]
}

/** An empty line, the titles and the foot line. */
const OTHER_LINES = 3

interface Foot extends View {
  readonly hidden: number
}

function footLine({ hidden, sort, isStale }: Foot, colors: Output['colors'], width: number): string {
  const keys = `sorted by ${sort}; q quits`
  const help = width >= HELP_WIDTH ? `${keys}; ${SORT_HELP}` : keys
  const stale = isStale ? [colors.yellow('API unreachable, retrying')] : []
  const more = hidden > 0 ? [`… and ${hidden} more`] : []
  return [...stale, ...more, colors.dim(help)].join(BETWEEN)
}
