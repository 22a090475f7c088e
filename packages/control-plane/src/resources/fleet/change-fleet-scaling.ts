import { ProblemError } from '@lcm/contract/problems'
import { FLEET_SCALING_ID, type FleetScaling, newFleetScaling } from '@lcm/domain/fleet/fleet-scaling'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { NewEntry } from '@lcm/store/store'
import type { Api } from '../../api-context.ts'
import { type Fenced, raiseDocumentFence } from '../service/term-fencing.ts'

/** Each lost race means that another writer won. */
const RACES_MAX = 100

export async function fleetScaling(api: Api): Promise<FleetScaling> {
  const found = await api.fleetScaling.get(FLEET_SCALING_ID)
  if (found !== null) return found
  await api.fleetScaling.insert(newFleetScaling(toInstant(api.clock.now())))
  return (await api.fleetScaling.get(FLEET_SCALING_ID)) ?? newFleetScaling(toInstant(api.clock.now()))
}

export interface ScalingChange {
  readonly scaling: FleetScaling
  readonly entries?: readonly NewEntry[]
}

/**
 * Every automatic stop or purchase is one change of this document, so that two can't both use the last free capacity. `change`
 * reads workers after the document, and again after every lost race: otherwise it would count workers as they were before the
 * winner's permit was used.
 */
export async function changeScaling(
  api: Api,
  change: (scaling: FleetScaling, now: Instant) => Promise<ScalingChange | null> | ScalingChange | null,
  by?: Fenced,
): Promise<FleetScaling> {
  for (let race = 0; race < RACES_MAX; race++) {
    const scaling = await fleetScaling(api)
    const now = toInstant(Math.max(api.clock.now(), toMs(scaling.updated_at) + 1))
    const changed = await change(scaling, now)
    if (changed === null) return scaling
    const fence = by === undefined ? scaling.fence : raiseDocumentFence(scaling, by)
    const next = { ...changed.scaling, fence, version: scaling.version + 1, updated_at: now }
    if ((await api.fleetScaling.replace(next, changed.entries ?? [])).ok) return next
  }
  throw new ProblemError('store_unavailable', 'the fleet is written too often; try again')
}

/** Blocks automatic actions until every worker has been observed: a restored store may be outdated. */
export const holdFleet = (api: Api): Promise<FleetScaling> =>
  changeScaling(api, (scaling, now) => ({ scaling: { ...scaling, held_since: now } }))

/** Releases the fleet after a full sweep that started after the hold. */
export async function releaseFleet(api: Api, lastSweep: Instant | null): Promise<void> {
  if (lastSweep === null) return
  await changeScaling(api, scaling =>
    scaling.held_since === null || scaling.held_since >= lastSweep
      ? null
      : { scaling: { ...scaling, held_since: null } },
  )
}
