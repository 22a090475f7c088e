import type { SimState } from '../sim-state.ts'
import type { SimChange } from '../sim-store.ts'
import { TELEMETRY } from '../state-codec.ts'
import type { CmlLab } from './labs/lab.ts'
import type { Seat } from './license/smart-account-seat.ts'
import { recordCache } from './record-cache.ts'
import type { CmlChange } from './server-context.ts'
import type { CmlServer } from './server-state.ts'
import { CHUNK_EVENTS_MAX, CHUNKS_CUT, CHUNKS_MAX, type TelemetryEvent } from './telemetry-events.ts'

const SERVER = 'cml-server'
const LAB = 'cml-lab'
/** Not keyed by instance id: entries of the Smart Account survive the machine. */
const SEAT = 'cml-seat'

/** Stored state of every CML server. */
export interface CmlStore {
  /** Null until something on the server changes. */
  server(instanceId: string): CmlServer | null
  lab(instanceId: string, labId: string): CmlLab | null
  telemetry(instanceId: string): readonly TelemetryEvent[]
  seats(): readonly Seat[]
  /** Durable when it returns. `productUuid` identifies the server whose account entry the change may set. */
  commit(instanceId: string, change: CmlChange, productUuid: string): void
}

export function cmlStore(sim: SimState): CmlStore {
  const { read, forget } = recordCache(sim, [SERVER, LAB, SEAT])
  const chunks = chunkBook(sim)
  return {
    server: instanceId => read<CmlServer>(SERVER, instanceId),
    lab: (instanceId, labId) => read<CmlLab>(LAB, `${instanceId}/${labId}`),
    telemetry: instanceId => chunks.of(instanceId).flatMap(key => eventsAt(sim, key)),
    seats: () => [...sim.stored(SEAT).keys()].flatMap(key => read<Seat>(SEAT, key) ?? []),
    commit(instanceId, change, productUuid) {
      const log = telemetryRecords(instanceId, change.events ?? [], {
        keys: chunks.of(instanceId),
        last: key => eventsAt(sim, key),
      })
      const records = recordsOf(instanceId, change, productUuid)
      const isSeen = change.labs !== undefined || change.removed_lab_id !== undefined
      if (records.length + log.records.length > 0)
        sim.commit({ records, shelved: log.records, ...(isSeen ? { touched: [instanceId] } : {}) })
      forget(records.filter(({ value }) => value === null))
      chunks.set(instanceId, log.keys)
    },
  }
}

/** Telemetry stays on disk: a busy server has ten thousand events. */
function eventsAt(sim: SimState, key: string): readonly TelemetryEvent[] {
  const text = sim.read(TELEMETRY, key)
  return text === null ? [] : JSON.parse(text)
}

const put = (kind: string, key: string, value: object): SimChange => ({ kind, key, value: JSON.stringify(value) })

function recordsOf(instanceId: string, change: CmlChange, productUuid: string): readonly SimChange[] {
  const { server, labs = [], removed_lab_id, seat } = change
  return [
    ...(server ? [put(SERVER, instanceId, server)] : []),
    ...labs.map(lab => put(LAB, `${instanceId}/${lab.id}`, lab)),
    ...(removed_lab_id === undefined ? [] : [{ kind: LAB, key: `${instanceId}/${removed_lab_id}`, value: null }]),
    ...(seat ? [put(SEAT, productUuid, seat)] : []),
    ...(seat === null ? [{ kind: SEAT, key: productUuid, value: null }] : []),
  ]
}

interface ChunkBook {
  /** Keys of a machine's chunks of telemetry, oldest first. */
  of(instanceId: string): readonly string[]
  set(instanceId: string, keys: readonly string[]): void
}

const chunkNumber = (key: string): number => Number(key.split('/')[1])

function chunkBook(sim: SimState): ChunkBook {
  const book = new Map<string, readonly string[]>()
  for (const key of sim.shelf(TELEMETRY)) {
    const instanceId = key.split('/')[0] ?? ''
    const keys = [...(book.get(instanceId) ?? []), key]
    book.set(
      instanceId,
      keys.sort((a, b) => chunkNumber(a) - chunkNumber(b)),
    )
  }
  return {
    of: instanceId => book.get(instanceId) ?? [],
    set(instanceId, keys) {
      if (keys.length === 0) return
      book.set(instanceId, keys)
      if (book.size <= sim.instances.size) return
      for (const id of book.keys()) if (!sim.instances.has(id)) book.delete(id)
    },
  }
}

interface Log {
  readonly keys: readonly string[]
  last(key: string): readonly TelemetryEvent[]
}

/** Only the last chunk is rewritten, so the cost of an event doesn't depend on their number. */
function telemetryRecords(instanceId: string, events: readonly TelemetryEvent[], log: Log) {
  if (events.length === 0) return { records: [], keys: log.keys }
  const lastKey = log.keys.at(-1)
  const open = lastKey === undefined ? [] : log.last(lastKey)
  const first = lastKey === undefined ? 0 : chunkNumber(lastKey)
  const all = [...open, ...events]
  const written = Array.from({ length: Math.ceil(all.length / CHUNK_EVENTS_MAX) }, (_, n) => ({
    key: `${instanceId}/${first + n}`,
    events: all.slice(n * CHUNK_EVENTS_MAX, (n + 1) * CHUNK_EVENTS_MAX),
  }))
  const keys = [...log.keys.slice(0, -1), ...written.map(({ key }) => key)]
  const cut = keys.length > CHUNKS_MAX ? keys.slice(0, keys.length - CHUNKS_MAX + CHUNKS_CUT) : []
  const records: readonly SimChange[] = [
    ...written.map(chunk => put(TELEMETRY, chunk.key, chunk.events)),
    ...cut.map(key => ({ kind: TELEMETRY, key, value: null })),
  ]
  return { records, keys: keys.slice(cut.length) }
}
