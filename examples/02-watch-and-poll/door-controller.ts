import type { ChangeHint, ChangeKeys } from '@lcm/coordination/change-keys'
import {
  type Clock,
  type Election,
  type Reconciliation,
  type ReconciliationResult,
  requeue,
  success,
  watchTriggeredHostedService,
} from '@lcm/runtime'

export type DoorStatus = 'OPEN' | 'MOVING' | 'SHUT'
export interface Door {
  readonly id: string
  readonly version: number
  readonly status: DoorStatus
  readonly desired: 'OPEN' | 'SHUT'
  /** Start of the last move, in wall-clock milliseconds. */
  readonly movedAt: number
}

const PREFIX = '/lcm/doors/'
const DOOR_MOVES_FOR_MS = 4_000

/** Stores doors. Every change increments the version and publishes the door's change key. */
export function doorStore(changeKeys: ChangeKeys, clock: Clock) {
  const doors = new Map<string, Door>()
  const put = async (id: string, change: Partial<Pick<Door, 'status' | 'desired' | 'movedAt'>>) => {
    const before: Door = doors.get(id) ?? { id, version: 0, status: 'SHUT', desired: 'SHUT', movedAt: 0 }
    const door = { ...before, ...change, version: before.version + 1 }
    doors.set(id, door)
    const updated_at = new Date(clock.now()).toISOString()
    const hint = { id, version: door.version, updated_at, status: door.status, desired_status: door.desired }
    await changeKeys.publish(`${PREFIX}${id}`, hint)
  }
  return { doors, put }
}

export interface DoorDeps {
  readonly clock: Clock
  readonly election: Election
  readonly changeKeys: ChangeKeys
  readonly store: ReturnType<typeof doorStore>
}

/** Moves doors. Changes wake it immediately, a requeue while a door moves, and the poll if a change was missed. */
export function doorController({ clock, election, changeKeys, store }: DoorDeps): Reconciliation {
  return watchTriggeredHostedService<Door, ChangeHint>(
    {
      async *listResources() {
        yield [...store.doors.values()]
      },
      keyOf: door => door.id,
      fetchResource: async id => store.doors.get(id) ?? null,
      needsAttention: door => door.status !== door.desired,
      watchSource: prefix => changeKeys.source(prefix),
      parseWatchKey: changeKey => changeKey.slice(PREFIX.length),
      isUrgent: hint => hint.status !== hint.desired_status,
      reconcile: door => moveDoor(door, store, clock.now()),
    },
    { serviceName: 'door-controller', metricPrefix: 'door_controller' },
    { prefix: PREFIX },
    { clock, election },
  )
}

/** A reconcile reads only the door and the time, never its trigger: its own writes wake it too. */
async function moveDoor(door: Door, store: DoorDeps['store'], nowMs: number): Promise<ReconciliationResult> {
  if (door.status === door.desired) return success()
  const leftMs = door.movedAt + DOOR_MOVES_FOR_MS - nowMs
  if (door.status === 'MOVING' && leftMs > 0) return requeue('the door is moving', leftMs)
  if (door.status === 'MOVING') await store.put(door.id, { status: door.desired })
  else await store.put(door.id, { status: 'MOVING', movedAt: nowMs })
  return requeue('the door was changed', 0)
}
