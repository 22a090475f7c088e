import { expect, it } from 'vitest'
import { evidenceOf } from './activity.ts'

const event = (category: string, at: string, user_id: string | null = null) => ({ category, at, user_id })
const telemetry = (events: readonly ReturnType<typeof event>[], more = {}) => ({
  own_user_id: 'us',
  is_collected: true,
  events,
  ...more,
})

it('is no evidence where nothing is collected', () => {
  expect(evidenceOf(telemetry([], { is_collected: false }), 3)).toBeNull()
  expect(evidenceOf(telemetry([]), 3)).toEqual({ last_activity_at: null, running_nodes: 3, events: [] })
})

it('counts what people did, not the server and not us', () => {
  const evidence = evidenceOf(
    telemetry([
      event('system_stats', '2026-01-01T05:00:00Z'),
      event('user_activity', '2026-01-01T04:00:00Z', 'us'),
      event('user_activity', '2026-01-01T03:00:00Z', 'ann'),
      event('start_lab', '2026-01-01T02:00:00+01:00'),
    ]),
    null,
  )
  expect(evidence?.last_activity_at).toBe('2026-01-01T03:00:00.000Z')
  expect(evidence?.events).toEqual([
    { at: '2026-01-01T01:00:00.000Z', category: 'start_lab', detail: '' },
    { at: '2026-01-01T03:00:00.000Z', category: 'user_activity', detail: 'user ann' },
  ])
})

it('takes somebody unknown for a person', () => {
  const events = [event('user_activity', '2026-01-01T04:00:00Z')]
  expect(evidenceOf(telemetry(events, { own_user_id: null }), null)?.last_activity_at).not.toBeNull()
})

it('is not confused by a date that is none, and keeps the newest of many', () => {
  const many = Array.from({ length: 150 }, (_, n) => event('boot_node', new Date(n * 1000).toISOString()))
  const evidence = evidenceOf(telemetry([event('start_lab', 'yesterday'), ...many]), null)
  expect(evidence?.events.length).toBe(100)
  expect(evidence?.last_activity_at).toBe('1970-01-01T00:02:29.000Z')
})
