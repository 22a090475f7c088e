import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { type ManualClock, manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { type SettingsCache, settingsCache } from '../kit/settings-cache.ts'
import { currentPolicy } from './config.ts'
import { type FakeApi, fakeApi } from './testing/fake-api.ts'
import { aConfig, never } from './testing/simulated-fleet.ts'

let clock: ManualClock
let api: FakeApi
let settings: SettingsCache

beforeEach(() => {
  clock = manualClock()
  api = fakeApi()
  settings = settingsCache({ client: api.client, clock })
})

describe('the settings that hold now', () => {
  it('are asked for once in ten seconds, however many want to know', async () => {
    await Promise.all([settings.read(never), settings.read(never), settings.read(never)])
    api.settings.set('orphan_action', 'terminate')
    await clock.advance(9_999)
    expect(await settings.read(never)).toEqual(SETTING_DEFAULTS)
    expect(api.received).toHaveLength(1)
    await clock.advance(1)
    expect(await settings.read(never)).toEqual({ ...SETTING_DEFAULTS, orphan_action: 'terminate' })
    expect(api.received).toHaveLength(2)
  })

  it('are the last known ones while the API is away, and new ones once it is back', async () => {
    api.settings.set('license_on_stop', 'release')
    await settings.read(never)
    api.setAway(true)
    await clock.advance(3_600_000)
    expect((await settings.read(never)).license_on_stop).toBe('release')
    api.setAway(false)
    api.settings.delete('license_on_stop')
    expect((await settings.read(never)).license_on_stop).toBe('keep')
  })

  it('are nobody knows what before they were ever read', async () => {
    api.setAway(true)
    await expect(settings.read(never)).rejects.toThrow('the API is away')
    api.setAway(false)
    expect(await settings.read(never)).toEqual(SETTING_DEFAULTS)
  })

  it('leave out what only a newer API knows', async () => {
    api.settings.set('invented_tomorrow', 'yes')
    expect(await settings.read(never)).toEqual(SETTING_DEFAULTS)
  })
})

it('rules follow what operators have set, and else what the controller was started with', () => {
  const config = aConfig()
  const changed = { ...SETTING_DEFAULTS, license_on_stop: 'release', license_on_terminate: 'record' } as const
  expect(currentPolicy(config, changed)).toEqual({
    ...config.policy,
    fleet: config.fleet,
    licenseOnStop: 'release',
    licenseOnTerminate: 'record',
  })
})
