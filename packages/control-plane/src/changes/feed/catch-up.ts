import { isCompacted, linkedAbort, type WatchMessage } from '@lcm/runtime'
import { type ChangesAnswer, StoreError } from '@lcm/store/store'
import { type ChangeKeyParts, type ChangeReader, changeReader, type FeedChange } from './change-reader.ts'
import type { ChangeRing } from './change-ring.ts'
import { type FeedPosition, isAfter } from './feed-position.ts'
import { versionFilter } from './version-filter.ts'

/** An open watch without a change for this long is assumed to have none. A wrong guess costs a delay, never a change. */
const QUIET_MS = 500
/** Silence for this long, although there is something to read, means that the source can't be read. */
const SILENT_MS = 10_000
const RELEASED_MAX = 1_000
const REACHED_MS = 1_000

export const UNKNOWN: ChangesAnswer = { known: false }

export interface CatchUp {
  readonly parts: ChangeKeyParts
  readonly ring: ChangeRing
  readonly position: FeedPosition
  readonly limit: number
  readonly signal: AbortSignal
}

type MessageType = WatchMessage<unknown>['type']

interface Reading extends CatchUp {
  readonly reader: ChangeReader
  readonly found: FeedChange[]
  isOpen: boolean
  lastChangeAt: number
}

/**
 * Changes after a position older than the ring, read from a separate watch until there are enough or the ring continues. If it
 * ends early, the answer is short but has no gap.
 */
export async function catchUp(query: CatchUp): Promise<ChangesAnswer> {
  const { parts, position } = query
  // One revision earlier, because the revision of the reader may have more puts than it has read.
  const after = Math.max(0, position.revision - 1)
  const reading: Reading = {
    ...query,
    reader: changeReader(parts, { revision: after, nth: 0 }, versionFilter(RELEASED_MAX)),
    found: [],
    isOpen: false,
    lastChangeAt: parts.clock.monotonic(),
  }
  const stream = linkedAbort(query.signal)
  const stopListening = onSilence(reading, () => stream.abort())
  let broken: unknown
  try {
    for await (const message of parts.source.watch(after, stream.signal)) {
      // Lower revisions belong to another history, such as a rebuilt etcd.
      if (message.revision < after) return UNKNOWN
      note(reading, message.type, reading.reader.read(message))
      if (hasReachedRing(reading, message.type)) return joined(reading)
      if (reading.found.length >= reading.limit) return known(reading.found)
    }
  } catch (error) {
    if (isCompacted(error)) return UNKNOWN
    broken = error
  } finally {
    stopListening()
    stream.unlink()
  }
  return partialAnswer(reading, broken)
}

/**
 * Whether the source has reached a revision: a watch that opens there reports a lower one otherwise. A failed watch counts as
 * no.
 */
export async function hasReached(parts: ChangeKeyParts, revision: number, signal: AbortSignal): Promise<boolean> {
  const stream = linkedAbort(signal)
  const cancel = parts.clock.after(REACHED_MS, () => stream.abort())
  try {
    for await (const message of parts.source.watch(revision, stream.signal)) return message.revision >= revision
  } catch (err) {
    parts.log.debug({ revision, err }, 'reading the revision of the change keys failed')
  } finally {
    cancel()
    stream.unlink()
  }
  return false
}

const known = (items: readonly FeedChange[]): ChangesAnswer => ({
  known: true,
  changes: items.map(({ change }) => change),
})

function note(reading: Reading, type: MessageType, item: FeedChange | null): void {
  reading.isOpen = true
  if (type !== 'progress') reading.lastChangeAt = reading.parts.clock.monotonic()
  if (item !== null && isAfter(item.position, reading.position)) reading.found.push(item)
}

/** The ring may advance while we read. A progress message covers its whole revision, a change only itself. */
function hasReachedRing({ reader, ring }: Reading, type: MessageType): boolean {
  return type === 'progress' ? reader.at.revision >= ring.from.revision : !isAfter(ring.from, reader.at)
}

/**
 * Keeps what was read for the next reader if the ring has space. Another reader may have extended the ring beyond this
 * position.
 */
function joined({ found, ring, position, limit }: Reading): ChangesAnswer {
  const { from } = ring
  if (!isAfter(from, position)) return known(ring.after(position, limit))
  const older = found.filter(item => !isAfter(item.position, from))
  const newer = ring.after(from, limit)
  ring.beginAt(position, older)
  return known([...older, ...newer].slice(0, limit))
}

function partialAnswer(reading: Reading, cause: unknown): ChangesAnswer {
  if (reading.found.length > 0 || isQuiet(reading)) return known(reading.found)
  throw new StoreError('Reading past changes from etcd failed. Check that etcd is reachable and try again.', {
    cause,
  })
}

/** Nothing indicates more to read. Progress messages of an idle watch need not carry its revision. */
const isQuiet = (reading: Reading): boolean => reading.isOpen && reading.ring.isEmpty && silenceOf(reading) >= QUIET_MS

const silenceOf = ({ parts, lastChangeAt }: Reading): number => parts.clock.monotonic() - lastChangeAt

function onSilence(reading: Reading, end: () => void): () => void {
  const { clock } = reading.parts
  const check = () => {
    if (isQuiet(reading) || silenceOf(reading) >= SILENT_MS) end()
    else cancel = clock.after(QUIET_MS, check)
  }
  let cancel = clock.after(QUIET_MS, check)
  return () => cancel()
}
