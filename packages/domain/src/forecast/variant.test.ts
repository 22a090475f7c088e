import { describe, expect, it } from 'vitest'
import { parseVariant } from './variant.ts'

const parsed = (text: string) => parseVariant(text, ['metal', 'nested12'])

describe('a variant', () => {
  it('is settings, and the template that is bought', () => {
    expect(parsed('idle_timeout_seconds=300, scale_up_enabled=false,template=nested12')).toEqual({
      variant: { settings: { idle_timeout_seconds: 300, scale_up_enabled: false }, template: 'nested12' },
    })
    expect(parsed('idle_action=none')).toEqual({ variant: { settings: { idle_action: 'none' }, template: null } })
    expect(parsed('quota_user_live_sessions=unlimited')).toEqual({
      variant: { settings: { quota_user_live_sessions: 'unlimited' }, template: null },
    })
  })

  it.each([
    ['idle_action', '"idle_action" is not setting=value.'],
    ['a=b=c', '"a=b=c" is not setting=value.'],
    ['color=red', 'There is no setting color. See them with `lcm get settings`, or use template=NAME.'],
    ['toString=1', 'There is no setting toString. See them with `lcm get settings`, or use template=NAME.'],
    ['template=gold', 'There is no template gold. Templates: metal, nested12.'],
  ])('%s is refused with the reason', (text, problem) => {
    expect(parsed(text)).toEqual({ problem })
  })

  it('names the setting whose value is not valid', () => {
    expect(parsed('min_workers=-1')).toEqual({ problem: expect.stringMatching(/^min_workers can't be -1: /) })
    expect(parsed('min_workers=')).toEqual({ problem: expect.stringMatching(/^min_workers can't be empty: /) })
    expect(parsed('min_workers=many')).toEqual({ problem: expect.stringMatching(/^min_workers can't be many: /) })
  })
})
