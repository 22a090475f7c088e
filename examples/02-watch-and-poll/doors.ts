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
  /** When it last began to move, in wall-clock milliseconds. */
  readonly movedAt: number
}

const PREFIX = '/lcm/doors/'
const DOOR_MOVES_FOR_MS = 4_000

/** Where doors are kept. Every change bumps the version and says so under the door's change key. */
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

/** Moves doors: woken by changes at once, by its own timer while a door moves, and by the poll if a change was lost. */
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

/** Its own writes wake it too, so it looks at the door and the time and never at what woke it. */
async function moveDoor(door: Door, store: DoorDeps['store'], nowMs: number): Promise<ReconciliationResult> {
  if (door.status === door.desired) return success()
  const leftMs = door.movedAt + DOOR_MOVES_FOR_MS - nowMs
  if (door.status === 'MOVING' && leftMs > 0) return requeue('door moves', leftMs)
  if (door.status === 'MOVING') await store.put(door.id, { status: door.desired })
  else await store.put(door.id, { status: 'MOVING', movedAt: nowMs })
  return requeue('door was moved', 0)
}
