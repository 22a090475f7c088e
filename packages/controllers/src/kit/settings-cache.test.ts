import { apiClient } from '@lcm/client/client'
import type { ApiResponse } from '@lcm/contract/route-spec'
import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { settingsCache } from './settings-cache.ts'

const never = new AbortController().signal

it('settings are read once in ten seconds, and the last known ones are used while the API is down', async () => {
  const clock = manualClock()
  let asked = 0
  let isAway = false
  const api = async (): Promise<ApiResponse> => {
    if (isAway) throw new Error('connection refused')
    asked += 1
    const settings = { min_workers: { value: asked, source: 'given' }, of_tomorrow: { value: 1, source: 'given' } }
    return { status: 200, headers: {}, body: JSON.stringify({ version: 1, updated_at: null, settings }) }
  }
  const settings = settingsCache({ client: apiClient(api), clock })
  await Promise.all([settings.read(never), settings.read(never)])
  expect([asked, await settings.read(never)]).toEqual([1, { ...SETTING_DEFAULTS, min_workers: 1 }])
  await clock.advance(10_000)
  expect(await settings.read(never)).toMatchObject({ min_workers: 2 })
  isAway = true
  await clock.advance(10_000)
  expect(await settings.read(never)).toMatchObject({ min_workers: 2 })
})

it('reading rejects when settings were never read', async () => {
  const away = async (): Promise<ApiResponse> => Promise.reject(new Error('connection refused'))
  const settings = settingsCache({ client: apiClient(away), clock: manualClock() })
  await expect(settings.read(never)).rejects.toThrow('connection refused')
})
