import { reason, textReason } from '@lcm/domain/reason'
import { describe, expect, it } from 'vitest'
import { isNewReason, reasonOf } from './waiting-reason.ts'

const noCapacity = textReason('no capacity')
const cooldown = (seconds: number) => reason('scale_up_cooldown', { template: 'metal', last_at: 'then', seconds })
const refused = (seconds: number) => reason('scale_up_refused', { cause: noCapacity, refusal: cooldown(seconds) })

describe('the waiting reason', () => {
  it('is that of the step, with the refusal of a scale-up', () => {
    expect(reasonOf({ because: noCapacity, forGood: false }, null)).toEqual(noCapacity)
    expect(reasonOf({ because: noCapacity, forGood: false }, cooldown(12))).toEqual(refused(12))
  })

  it('names what no available machine can ever serve', () => {
    const waiting = reasonOf({ because: noCapacity, forGood: true }, null)
    expect(waiting).toMatchObject({ code: 'unschedulable', params: { cause: noCapacity } })
  })

  it('is no longer than the API accepts', () => {
    const long = textReason('x'.repeat(2000))
    expect(reasonOf({ because: long, forGood: true }, null).message).toHaveLength(1000)
  })

  it.each([
    [null, noCapacity, true],
    [noCapacity, noCapacity, false],
    [textReason('waits for metal-1'), textReason('waits for metal-2'), true],
    [refused(290), refused(12), false],
    [textReason('8 GB are needed'), textReason('16 GB are needed'), true],
  ])('after %j is %j new: %s', (known, because, isNew) => {
    expect(isNewReason(known, because)).toBe(isNew)
  })
})
