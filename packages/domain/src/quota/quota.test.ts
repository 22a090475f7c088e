import { describe, expect, it } from 'vitest'
import { ROLES } from '../actor.ts'
import { SETTING_DEFAULTS } from '../fleet/settings.ts'
import { isCounted, limitsOf, patchedLimits, QuotaPatch } from './quota.ts'

describe('the limits of a person', () => {
  it.each(ROLES.filter(role => role !== 'user'))('are none by default for role %s', role => {
    const limits = limitsOf({ role, given: {} }, SETTING_DEFAULTS)
    expect(new Set(Object.values(limits))).toEqual(new Set(['unlimited']))
    expect(isCounted(limits)).toBe(false)
  })

  it('fit a class by default for role user', () => {
    expect(limitsOf({ role: 'user', given: {} }, SETTING_DEFAULTS)).toEqual({
      live_sessions: 2,
      future_sessions: 10,
      horizon_days: 60,
      core_hours_per_week: 1000,
    })
  })

  it('come from the settings of the role, unless an operator gave others', () => {
    const settings = { ...SETTING_DEFAULTS, quota_author_live_sessions: 3, quota_user_live_sessions: 4 }
    expect(limitsOf({ role: 'author', given: {} }, settings).live_sessions).toBe(3)
    expect(limitsOf({ role: 'user', given: {} }, settings).live_sessions).toBe(4)
    expect(limitsOf({ role: 'user', given: { live_sessions: 'unlimited' } }, settings).live_sessions).toBe('unlimited')
    expect(limitsOf({ role: 'operator', given: { live_sessions: 1 } }, settings)).toMatchObject({
      live_sessions: 1,
      future_sessions: 'unlimited',
    })
  })

  it('need a ledger unless only the horizon is limited', () => {
    const none = limitsOf({ role: 'admin', given: {} }, SETTING_DEFAULTS)
    expect(isCounted({ ...none, horizon_days: 60 })).toBe(false)
    for (const name of ['live_sessions', 'future_sessions', 'core_hours_per_week'] as const)
      expect(isCounted({ ...none, [name]: 1 })).toBe(true)
  })
})

describe('a patch', () => {
  it('sets limits, and resets them by null', () => {
    const given = patchedLimits({}, { live_sessions: 5, horizon_days: 'unlimited' })
    expect(given).toEqual({ live_sessions: 5, horizon_days: 'unlimited' })
    expect(patchedLimits(given, { live_sessions: null, future_sessions: 0 })).toEqual({
      horizon_days: 'unlimited',
      future_sessions: 0,
    })
  })

  it.each([{ live_sessions: -1 }, { live_sessions: 1.5 }, { live_sessions: 'many' }, { sessions: 1 }])(
    'refuses %j',
    patch => {
      expect(QuotaPatch.safeParse(patch).success).toBe(false)
    },
  )
})
