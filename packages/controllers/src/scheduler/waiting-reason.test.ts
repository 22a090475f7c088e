import { type Reason, reason, textReason } from '@lcm/domain/reason'
import { describe, expect, it } from 'vitest'
import { aSession, atMinutes } from './testing/scheduling-fixtures.ts'
import { isNewReason, reasonOf } from './waiting-reason.ts'

const waits = (because: Reason, forGood = false, session = aSession()) =>
  ({ kind: 'wait', session, because, forGood }) as const
const noCapacity = textReason('no capacity')
const cooldown = (seconds: number) => reason('scale_up_cooldown', { template: 'metal', last_at: 'then', seconds })
const refused = (seconds: number) => reason('scale_up_refused', { cause: noCapacity, refusal: cooldown(seconds) })

describe('the waiting reason', () => {
  it('is that of the step, with the refusal of a scale-up', () => {
    expect(reasonOf(waits(noCapacity), null)).toEqual(noCapacity)
    expect(reasonOf(waits(noCapacity), cooldown(12))).toEqual(refused(12))
  })

  it('names what no available machine can ever serve', () => {
    const waiting = reasonOf(waits(noCapacity, true), null)
    expect(waiting).toMatchObject({ code: 'unschedulable', params: { cause: noCapacity } })
  })

  it('says that a moved session is first in line', () => {
    const state_history = [
      { from: 'READY', to: 'RUNNING', at: atMinutes(-9), because: reason('timeslot_started') },
      { from: 'RUNNING', to: 'PENDING', at: atMinutes(-1), because: reason('session_moved', { cause: noCapacity }) },
    ] as const
    const moved = aSession({ state_history: [...state_history] })
    expect(reasonOf(waits(noCapacity, false, moved), null)).toEqual(
      reason('moved_session_waits', { cause: noCapacity }),
    )
  })

  it('is no longer than the API accepts', () => {
    const long = textReason('x'.repeat(2000))
    expect(reasonOf(waits(long, true), null).message).toHaveLength(1000)
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
