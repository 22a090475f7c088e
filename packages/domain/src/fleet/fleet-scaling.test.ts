import { expect, it } from 'vitest'
import { FleetScaling, newFleetScaling } from './fleet-scaling.ts'

it('begins with nothing permitted, bought or held', () => {
  const scaling = newFleetScaling('2026-01-01T00:00:00.000Z')
  expect(FleetScaling.parse(scaling)).toEqual(scaling)
  expect(scaling).toMatchObject({ stop_permits: {}, purchases: {}, held_since: null, last_scale_down_at: null })
})
