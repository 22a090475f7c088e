import { apiClient } from '@lcm/client/client'
import type { Dispatch } from '@lcm/contract/route-spec'
import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { type AControlPlane, aControlPlane, NO_QUOTAS } from '@lcm/testkit/a-control-plane'
import type { ManualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { type SettingsCache, settingsCache } from '../kit/settings-cache.ts'
import { currentPolicy } from './reconciler.ts'
import { aConfig, never } from './testing/simulated-cloud-and-api.ts'

const SETTINGS = { ...SETTING_DEFAULTS, ...NO_QUOTAS }

let clock: ManualClock
let plane: AControlPlane
let settings: SettingsCache

beforeEach(() => {
  plane = aControlPlane()
  clock = plane.clock
  settings = settingsCache({ client: plane.client('worker-controller'), clock })
})

describe('the current settings', () => {
  it('are read once in ten seconds, however many callers need them', async () => {
    await Promise.all([settings.read(never), settings.read(never), settings.read(never)])
    await plane.set({ orphan_action: 'terminate' })
    await clock.advance(9_999)
    expect(await settings.read(never)).toEqual(SETTINGS)
    expect(plane.requests).toHaveLength(1)
    await clock.advance(1)
    expect(await settings.read(never)).toEqual({ ...SETTINGS, orphan_action: 'terminate' })
    expect(plane.requests).toHaveLength(2)
  })

  it('are the last known ones while the API is down, and new ones once it is back', async () => {
    await plane.set({ license_on_stop: 'release' })
    await settings.read(never)
    plane.fail({ effect: 'unreachable' })
    await clock.advance(3_600_000)
    expect((await settings.read(never)).license_on_stop).toBe('release')
    plane.heal()
    await plane.set({ license_on_stop: null })
    expect((await settings.read(never)).license_on_stop).toBe('keep')
  })

  it('reject before they were ever read', async () => {
    plane.fail({ effect: 'unreachable' })
    await expect(settings.read(never)).rejects.toThrow('connection refused')
    plane.heal()
    expect(await settings.read(never)).toEqual(SETTINGS)
  })

  it('leave out fields that only a newer API knows', async () => {
    const newer: Dispatch = async request => {
      const response = await plane.dispatch(request)
      const shown = JSON.parse(String(response.body))
      shown.settings.invented_tomorrow = { value: 'yes', source: 'default' }
      return { ...response, body: JSON.stringify(shown) }
    }
    const client = apiClient(newer, { token: 'worker-controller' })
    expect(await settingsCache({ client, clock }).read(never)).toEqual(SETTINGS)
  })
})

it('the policy follows the settings of operators, else the configuration of the controller', () => {
  const config = aConfig()
  const changed = { ...SETTING_DEFAULTS, license_on_stop: 'release', license_on_terminate: 'record' } as const
  expect(currentPolicy(config, changed)).toEqual({
    ...config.policy,
    fleet: config.fleet,
    licenseOnStop: 'release',
    licenseOnTerminate: 'record',
  })
})
