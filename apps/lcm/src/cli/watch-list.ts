import type { Client } from '@lcm/client/client'
import type { EventEnvelope } from '@lcm/contract/events'
import type { Clock } from '@lcm/runtime/clock'
import { isPassing } from './cli-error.ts'
import { follow, type Notice } from './follow-events.ts'
import type { Format } from './option-parsers.ts'
import { changeText, type Resource, type ResourceView } from './resource-view.ts'
import { liveArea, type Output } from './terminal/output.ts'
import { columnWidths, rowLines, tableLines, titleLine } from './terminal/table.ts'

export interface Listing<T> {
  readonly items: T[]
  /** The position of the event stream when the list was read. */
  readonly revision: string
}

/** A list that can be kept up to date. */
export interface Watchable<T extends Resource> {
  readonly view: ResourceView<T>
  list(signal: AbortSignal): Promise<Listing<T>>
  /** The resource in an event, if it is one of these. */
  changed(event: EventEnvelope): T | null
  /** The id in an event, if one of these was deleted. */
  deleted(event: EventEnvelope): string | null
  /** Polling interval for kinds without events. */
  readonly everyMs?: number | undefined
  /** Whether to print the change; compares versions by default. A live table always shows the newest state. */
  differs?(before: T, after: T): boolean
  /** Whether the list includes this item. */
  shows(item: T): boolean
}

export interface WatchOptions {
  readonly client: Client
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly output: Output
  readonly format: Format
}

/** Shows the list: a live table or a log of changes. */
interface Audience<T> {
  begin(items: readonly T[]): Promise<void>
  changed(item: T): Promise<void>
  /** Shows or hides the warning that the API is unreachable. */
  unreachable(isSo: boolean): void
  end(): void
}

interface Picture<T> {
  readonly known: Map<string, T>
  readonly audience: Audience<T>
  /** Whether the next list may replace newer versions, because the API lost its history. */
  isOutdated: boolean
}

/** Shows a list and keeps it up to date until the signal aborts. Rejects if the first read fails. */
export async function watchList<T extends Resource>(watchable: Watchable<T>, options: WatchOptions): Promise<void> {
  const first = await watchable.list(options.signal)
  const known = new Map(first.items.map(item => [item.id, item]))
  const isLive = options.format === 'table' && options.output.stdout.isTty
  const audience = isLive ? liveTable(watchable.view, known, options) : changeLog(watchable.view, options)
  const picture = { known, audience, isOutdated: false }
  await audience.begin(first.items)
  try {
    let isFresh = true
    for await (const notice of noticesOf(watchable, options, first.revision)) {
      if (notice.kind === 'event' && notice.event.type === 'reset') picture.isOutdated = true
      else if (notice.kind === 'event') await apply(watchable, picture, notice.event)
      else if (notice.kind === 'refresh' && !isFresh) await reread(watchable, picture, options.signal)
      isFresh = false
    }
  } finally {
    audience.end()
  }
}

const noticesOf = <T extends Resource>(
  { everyMs }: Watchable<T>,
  options: WatchOptions,
  after: string,
): AsyncGenerator<Notice> => (everyMs === undefined ? follow({ ...options, after }) : refreshes(everyMs, options))

async function* refreshes(everyMs: number, { clock, signal }: WatchOptions): AsyncGenerator<Notice> {
  while (!signal.aborted) {
    yield { kind: 'refresh' }
    await clock.sleep(everyMs, signal)
  }
}

async function reread<T extends Resource>(watchable: Watchable<T>, picture: Picture<T>, signal: AbortSignal) {
  try {
    const { items } = await watchable.list(signal)
    picture.audience.unreachable(false)
    const listed = new Set(items.map(item => item.id))
    for (const id of [...picture.known.keys()]) if (!listed.has(id)) picture.known.delete(id)
    for (const item of items) await keep(watchable, picture, item)
    picture.isOutdated = false
  } catch (error) {
    if (!isPassing(error)) throw error
    if (!signal.aborted) picture.audience.unreachable(true)
  }
}

async function apply<T extends Resource>(watchable: Watchable<T>, picture: Picture<T>, event: EventEnvelope) {
  const { known } = picture
  const gone = watchable.deleted(event)
  if (gone !== null) known.delete(gone)
  const item = watchable.changed(event)
  if (item === null) return
  if (watchable.shows(item) || known.has(item.id)) await keep(watchable, picture, item)
  if (!watchable.shows(item)) known.delete(item.id)
}

/** Stores an item unless a newer version is known. Polled items are always the newest. */
async function keep<T extends Resource>(watchable: Watchable<T>, picture: Picture<T>, item: T) {
  const { known, audience } = picture
  const before = known.get(item.id)
  const { everyMs, differs = isOtherVersion } = watchable
  const isNewest = everyMs !== undefined || picture.isOutdated
  if (before !== undefined && !isNewest && before.version >= item.version) return
  known.set(item.id, item)
  if (before === undefined || differs(before, item)) await audience.changed(item)
}

const isOtherVersion = (before: Resource, after: Resource): boolean => before.version !== after.version

const FRAME_MS = 500
/** Lines for the titles, the number of hidden items and the state of the API. */
const ROWS_RESERVED = 4

/** A table that is redrawn whenever its text changes, including ages. */
function liveTable<T extends Resource>(
  view: ResourceView<T>,
  known: ReadonlyMap<string, T>,
  { output, clock }: WatchOptions,
): Audience<T> {
  const area = liveArea(output.stdout)
  let shown = ''
  let isStale = false
  let cancel: () => void = () => undefined
  const draw = () => {
    const lines = frame(view, [...known.values()], output, clock.now())
    if (isStale) lines.push(output.colors.yellow('API unreachable, retrying'))
    if (lines.join('\n') !== shown) area.draw(lines)
    shown = lines.join('\n')
    cancel = clock.after(FRAME_MS, draw)
  }
  return {
    begin: async () => draw(),
    changed: async () => undefined,
    unreachable(isSo) {
      isStale = isSo
    },
    end: () => cancel(),
  }
}

function frame<T extends Resource>(view: ResourceView<T>, items: T[], output: Output, nowMs: number): string[] {
  if (items.length === 0) return [view.whenEmpty]
  const { rows } = output.stdout
  const shown = rows === 0 ? items.length : Math.max(1, rows - ROWS_RESERVED)
  const lines = tableLines(view.columns(nowMs, output.colors), items.slice(0, shown))
  return items.length > shown ? [...lines, `… and ${items.length - shown} more`] : lines
}

/** Prints the list, then one line or document per change, for pipes and logs. */
function changeLog<T extends Resource>(view: ResourceView<T>, { output, format, clock }: WatchOptions): Audience<T> {
  const print = format === 'table' ? growingTable(view, output, clock) : documents(view, output, format)
  let wasUnreachable = false
  return {
    begin: print,
    changed: item => print([item]),
    unreachable(isSo) {
      if (isSo && !wasUnreachable) output.note('API unreachable, retrying')
      wasUnreachable = isSo
    },
    end: () => undefined,
  }
}

type Print<T> = (items: readonly T[]) => Promise<void>

const documents =
  <T extends Resource>(view: ResourceView<T>, output: Output, format: Exclude<Format, 'table'>): Print<T> =>
  async items => {
    for (const item of items) output.out(await changeText(view, item, format))
  }

function growingTable<T extends Resource>(view: ResourceView<T>, output: Output, clock: Clock): Print<T> {
  let widths: number[] = []
  return async items => {
    if (items.length === 0) return
    const columns = view.columns(clock.now(), output.colors)
    const isFirst = widths.length === 0
    widths = columnWidths(columns, items, widths)
    if (isFirst) output.out(titleLine(columns, widths))
    rowLines(columns, items, widths).forEach(output.out)
  }
}
