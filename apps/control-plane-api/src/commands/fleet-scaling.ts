import { FLEET_SCALING_ID, type FleetScaling, newFleetScaling } from '@lcm/domain/fleet/fleet-scaling'
import { type Instant, toInstant } from '@lcm/domain/instant'
import type { NewEntry } from '@lcm/store/store'
import type { Api } from '../api.ts'
import { changeDocument } from './change.ts'

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

/** Every automatic stop or purchase is one change of this document, so that two can not both take the last room. */
export async function changeScaling(
  api: Api,
  change: (scaling: FleetScaling, now: Instant) => ScalingChange | null,
): Promise<FleetScaling> {
  await fleetScaling(api)
  const target = { collection: api.fleetScaling, id: FLEET_SCALING_ID, noun: 'fleet' }
  return changeDocument(target, api.clock, null, (scaling, now) => {
    const changed = change(scaling, now)
    return changed === null ? null : { document: changed.scaling, entries: changed.entries ?? [] }
  })
}

/** Until every worker has been looked at, nothing automatic is done: what the store says may be old. */
export const holdFleet = (api: Api): Promise<FleetScaling> =>
  changeScaling(api, (scaling, now) => ({ scaling: { ...scaling, held_since: now } }))

/** A full look at all workers, after the fleet was held, lets it go. */
export async function releaseFleet(api: Api, lastSweep: Instant | null): Promise<void> {
  if (lastSweep === null) return
  const scaling = await api.fleetScaling.get(FLEET_SCALING_ID)
  if (scaling === null || scaling.held_since === null || scaling.held_since > lastSweep) return
  await changeScaling(api, current =>
    current.held_since === null ? null : { scaling: { ...current, held_since: null } },
  )
}
