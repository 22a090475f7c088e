import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

const CONFIG = {
  version: '0.0.0',
  profile: 'embedded',
  cloud: 'sim',
  regions: ['us-east-1'],
  settings: { min_workers: 2, idle_action: 'none' },
} as const
let fleet: Fleet
beforeEach(() => {
  fleet = aFleet({ config: CONFIG })
})

const get = () => fleet.send('GET', 'settings', { as: 'user' })
const patch = (json: object, headers: Record<string, string> = {}) => fleet.send('PATCH', 'settings', { json, headers })

describe('settings', () => {
  it('show every value with its source, and version 0 before the first change', async () => {
    const { status, headers, json } = await get()
    expect([status, headers.etag]).toEqual([200, '"0"'])
    expect(json).toMatchObject({ version: 0, updated_at: null })
    expect(Object.keys(json.settings)).toEqual(Object.keys(SETTING_DEFAULTS))
    expect(json.settings).toMatchObject({
      min_workers: { value: 2, source: 'environment' },
      idle_action: { value: 'none', source: 'environment' },
      idle_timeout_seconds: { value: 3600, source: 'default' },
    })
  })

  it('prefer changed values over the environment and the defaults', async () => {
    const { status, json } = await patch({ min_workers: 5, scale_up_enabled: false })
    expect(status).toBe(200)
    expect(json.version).toBe(1)
    expect(json.settings).toMatchObject({
      min_workers: { value: 5, source: 'given' },
      scale_up_enabled: { value: false, source: 'given' },
      idle_action: { value: 'none', source: 'environment' },
    })
    expect((await get()).json).toEqual(json)
    expect((await patch({ idle_action: 'pause' })).json).toMatchObject({ version: 2 })
    expect((await get()).json.settings.min_workers.value).toBe(5)
  })

  it('go back to the environment or the default by null', async () => {
    await patch({ min_workers: 5, idle_timeout_seconds: 60 })
    const { json } = await patch({ min_workers: null, idle_timeout_seconds: null })
    expect(json.settings.min_workers).toEqual({ value: 2, source: 'environment' })
    expect(json.settings.idle_timeout_seconds).toEqual({ value: 3600, source: 'default' })
    expect(json.version).toBe(2)
  })

  it('are not written when no value changes', async () => {
    for (const nothing of [{}, { min_workers: null }]) expect((await patch(nothing)).json.version).toBe(0)
    await patch({ min_workers: 5 })
    for (const nothing of [{}, { min_workers: 5 }, { idle_action: null }])
      expect((await patch(nothing)).json.version).toBe(1)
    expect(await fleet.journal('audit', 'settings:fleet')).toHaveLength(1)
  })

  it('honor If-Match, also in the first change', async () => {
    const refused = await patch({ min_workers: 5 }, { 'if-match': '"1"' })
    expect(refused).toMatchObject({ status: 412, json: { code: 'version_mismatch' } })
    expect((await patch({ min_workers: 5 }, { 'if-match': '"0"' })).json.version).toBe(1)
    expect((await patch({ min_workers: 6 }, { 'if-match': '"0"' })).status).toBe(412)
    expect((await patch({ min_workers: 6 }, { 'if-match': '"1"' })).json.version).toBe(2)
  })

  it('merge concurrent changes', async () => {
    await Promise.all([patch({ min_workers: 1 }), patch({ idle_timeout_seconds: 60 }), patch({ boot_lead_minutes: 5 })])
    const { json } = await get()
    expect(json.version).toBe(3)
    expect(json.settings).toMatchObject({
      min_workers: { value: 1 },
      idle_timeout_seconds: { value: 60 },
      boot_lead_minutes: { value: 5 },
    })
  })

  it.each([{ color: 'red' }, { min_workers: -1 }, { idle_action: 'sleep' }, { idle_timeout_seconds: '60' }])(
    'refuse %j, with the name of the setting',
    async body => {
      const { status, json } = await patch(body)
      expect([status, json.code]).toEqual([400, 'validation_failed'])
      expect(JSON.stringify(json.errors)).toContain(Object.keys(body)[0])
      expect((await get()).json.version).toBe(0)
    },
  )

  it('are changed by admins alone', async () => {
    for (const as of ['operator', 'author', 'user', 'controller'] as const)
      expect((await fleet.send('PATCH', 'settings', { as, json: {} })).status).toBe(403)
  })

  it('are published as events', async () => {
    const stream = await fleet.follow()
    await stream.seen()
    const first = (await patch({ min_workers: 5 })).json
    await stream.seen()
    const second = (await patch({ min_workers: 6 })).json
    const events = await stream.seen()
    expect(events.slice(1)).toEqual([
      { type: 'settings.created', id: 'fleet', version: 1, at: first.updated_at, data: first },
      { type: 'settings.updated', id: 'fleet', version: 2, at: second.updated_at, data: second },
    ])
    await stream.stop()
  })

  it('record the old and new values in the audit', async () => {
    await patch({ min_workers: 5, boot_lead_minutes: 9 })
    await patch({ min_workers: 6, idle_action: 'drain', boot_lead_minutes: null })
    const entries = await fleet.journal('audit', 'settings:fleet')
    const [second, first] = entries.map(({ body }) => body)
    expect(first).toEqual(
      expect.objectContaining({ action: 'patch', before: {}, after: { min_workers: 5, boot_lead_minutes: 9 } }),
    )
    expect(second).toEqual(
      expect.objectContaining({
        before: { min_workers: 5, boot_lead_minutes: 9 },
        after: { min_workers: 6, idle_action: 'drain' },
      }),
    )
  })
})
