import type { SimState } from '../sim-state.ts'
import { TELEMETRY } from '../state-records.ts'
import type { SimChange } from '../store.ts'
import type { CmlLab } from './labs/lab.ts'
import type { Seat } from './license/smart-account.ts'
import { recordCache } from './record-cache.ts'
import type { CmlServer } from './server.ts'
import type { CmlChange } from './server-context.ts'
import { CHUNK_EVENTS_MAX, CHUNKS_CUT, CHUNKS_MAX, type TelemetryEvent } from './telemetry.ts'

const SERVER = 'cml-server'
const LAB = 'cml-lab'
/** Its keys are no instance ids: what the Smart Account counts does not go with the machine. */
const SEAT = 'cml-seat'

/** Stored state of every CML server. */
export interface CmlStore {
  /** Null while nobody has changed anything on it. */
  server(instanceId: string): CmlServer | null
  lab(instanceId: string, labId: string): CmlLab | null
  telemetry(instanceId: string): readonly TelemetryEvent[]
  seats(): readonly Seat[]
  /** Durable when it returns. `productUuid` says whose seat the change may name. */
  commit(instanceId: string, change: CmlChange, productUuid: string): void
}

export function cmlStore(world: SimState): CmlStore {
  const { read, forget } = recordCache(world, [SERVER, LAB, SEAT])
  const chunks = chunkBook(world)
  return {
    server: instanceId => read<CmlServer>(SERVER, instanceId),
    lab: (instanceId, labId) => read<CmlLab>(LAB, `${instanceId}/${labId}`),
    telemetry: instanceId => chunks.of(instanceId).flatMap(key => eventsAt(world, key)),
    seats: () => [...world.stored(SEAT).keys()].flatMap(key => read<Seat>(SEAT, key) ?? []),
    commit(instanceId, change, productUuid) {
      const log = telemetryRecords(instanceId, change.events ?? [], {
        keys: chunks.of(instanceId),
        last: key => eventsAt(world, key),
      })
      const records = recordsOf(instanceId, change, productUuid)
      const isSeen = change.labs !== undefined || change.removed_lab_id !== undefined
      if (records.length + log.records.length > 0)
        world.commit({ records, shelved: log.records, ...(isSeen ? { touched: [instanceId] } : {}) })
      forget(records.filter(({ value }) => value === null))
      chunks.set(instanceId, log.keys)
    },
  }
}

/** A busy server has ten thousand of them, so memory holds none. */
function eventsAt(world: SimState, key: string): readonly TelemetryEvent[] {
  const text = world.read(TELEMETRY, key)
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

function chunkBook(world: SimState): ChunkBook {
  const book = new Map<string, readonly string[]>()
  for (const key of world.shelf(TELEMETRY)) {
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
      if (book.size <= world.instances.size) return
      for (const id of book.keys()) if (!world.instances.has(id)) book.delete(id)
    },
  }
}

interface Log {
  readonly keys: readonly string[]
  last(key: string): readonly TelemetryEvent[]
}

/** Only the last chunk is written again, so that an event costs the same however many there are. */
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
