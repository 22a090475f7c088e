import { expect, it } from 'vitest'
import { Reason, reason, sameReason, textReason, withoutAmounts } from './reason.ts'

const cooldown = (seconds: number) => reason('scale_up_cooldown', { template: 'metal', last_at: 'then', seconds })

it('a reason has a code, its params and a message for people', () => {
  const made = reason('booked_by', { by: 'ada' })
  expect(made).toEqual({ code: 'booked_by', message: 'ada booked the session', params: { by: 'ada' } })
  expect(Reason.parse(JSON.parse(JSON.stringify(made)))).toEqual(made)
})

it('a text reason keeps at most 1000 characters', () => {
  expect(textReason('x'.repeat(2000)).message).toHaveLength(1000)
  expect(Reason.parse(textReason('Insufficient capacity.')).params).toEqual({ text: 'Insufficient capacity.' })
})

it('a long text is not cut inside a character', () => {
  const { message, params } = textReason(`x${'😀'.repeat(600)}`)
  expect([message, params.text]).toEqual(Array(2).fill(`x${'😀'.repeat(499)}`))
  expect(textReason('😀'.repeat(500)).message).toBe('😀'.repeat(500))
})

it('reasons are compared by code and params, not by message', () => {
  const made = reason('booked_by', { by: 'ada' })
  expect(sameReason(made, { ...made, message: 'worded differently' })).toBe(true)
  expect(sameReason(made, reason('booked_by', { by: 'bob' }))).toBe(false)
  expect(sameReason(made, reason('requeued_by', { by: 'ada' }))).toBe(false)
  expect([sameReason(made, null), sameReason(null, null)]).toEqual([false, true])
})

it('durations are not compared, also in the cause of a reason', () => {
  expect(withoutAmounts(cooldown(290))).toEqual(withoutAmounts(cooldown(12)))
  const nested = (seconds: number) =>
    reason('scale_up_refused', { cause: textReason('no'), refusal: cooldown(seconds) })
  expect(withoutAmounts(nested(290))).toEqual(withoutAmounts(nested(12)))
  expect(withoutAmounts(nested(1))).not.toEqual(
    withoutAmounts(reason('scale_up_refused', { cause: textReason('other'), refusal: cooldown(1) })),
  )
})
