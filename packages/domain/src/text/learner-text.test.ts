import { aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { restoreReason, withRestore } from '../save/restore.ts'
import { LAB_STOPPED, type LabletSession, WORKER_UNAVAILABLE } from '../session/lablet-session.ts'
import { newPipeline } from '../session/pipeline.ts'
import { sessionHealth } from '../session/session-health.ts'
import { unschedulable } from '../session/unschedulable-reason.ts'
import { learnerLine, learnerText } from './learner-text.ts'

const { start: START, end: END } = aSession().timeslot
const MINUTE_MS = 60_000
const NO_CAPACITY = reason('region_worker_limit', { region: 'us-east-1', limit: 10 })

/** As its owner reads it this many minutes after its start. */
function text(fields: Partial<LabletSession>, minutes = 5): string | null {
  const nowMs = toMs(START) + minutes * MINUTE_MS
  const session = aSession(fields)
  const times: Readonly<Record<string, string>> = { [START]: '10:00', [END]: '11:00' }
  const words = { nowMs, time: (at: string) => times[at] ?? at, retry: 'choose Retry' }
  const found = learnerText({ ...session, health: sessionHealth(session, nowMs) }, words)
  return found === null ? null : learnerLine(found)
}

const condition = (type: string, because: Reason) => ({ type, status: true, reason: because, since: START })
const running = (type: string, because: Reason) => text({ status: 'RUNNING', conditions: [condition(type, because)] })

describe('a learner whose session waits', () => {
  it('reads how long LCM keeps trying, whatever the scheduler waits for', () => {
    expect(text({ waiting_reason: NO_CAPACITY })).toBe(
      'No machine is free yet. Your lab starts as soon as one is. LCM keeps trying until 11:00.',
    )
    expect(text({ waiting_reason: NO_CAPACITY }, -5)).toBe(
      'No machine is free yet. Your lab starts at 10:00, or as soon as one is. LCM keeps trying until 11:00.',
    )
  })

  it('reads when the lab starts while nothing is wrong', () => {
    expect(text({}, -5)).toBe('Your session is booked. Your lab starts at 10:00.')
    expect(text({}, 1)).toBe(
      'LCM is looking for a machine. Your lab starts as soon as one is found. LCM keeps trying until 11:00.',
    )
  })

  it('reads before the start that the promised capacity is gone', () => {
    const at_risk = reason('capacity_lost', { since: START, cause: null })
    const admission = { ...aSession().admission, kind: 'admitted', at_risk } as const
    expect(text({ admission }, -5)).toBe(
      'Your lab may not start at 10:00. No machine is left for it at that time. LCM keeps looking. ' +
        'To be sure, book another time, or ask your instructor.',
    )
    expect(text({ admission, waiting_reason: NO_CAPACITY })).toMatch(/^No machine is free yet/)
  })

  it('reads that waiting is useless', () => {
    expect(text({ waiting_reason: unschedulable(reason('no_workers')) })).toBe(
      'No machine can run this lab. Ask your instructor.',
    )
    expect(text({ waiting_reason: unschedulable(reason('definition_deleted')) })).toBe(
      'This lab is no longer offered. Cancel the session and book another lab.',
    )
  })

  it('reads that the lab moves, and what becomes of the work', () => {
    const moved = { from: 'RUNNING', to: 'PENDING', at: START, because: reason('worker_gone') } as const
    const waiting = { waiting_reason: NO_CAPACITY, state_history: [moved] }
    expect(text(waiting)).toBe('Your lab is moving to another machine. LCM keeps trying until 11:00.')
    for (const saved of [{ restore_from: 'sv-1' }, { save: { ...aSession().save, save_id: 'sv-2' } }])
      expect(text({ ...waiting, status: 'SCHEDULED', waiting_reason: null, ...saved })).toBe(
        'Your lab is moving to another machine. LCM keeps trying until 11:00. It continues with your last saved work.',
      )
  })

  it('reads that the lab started without the saved work, while it runs', () => {
    const refused = new Map([['sv-1', reason('save_refused', { save: 'sv-1', error: 'Malformed lab YAML' })]])
    const conditionsWith = (because: Reason | null) => (because === null ? [] : withRestore(aSession(), because, START))
    const lost = conditionsWith(restoreReason(null, refused))
    expect(text({ status: 'RUNNING', conditions: lost })).toBe(
      'Your lab started without your saved work. Try to download your last save, or ask your instructor.',
    )
    expect(text({ status: 'ARCHIVED', conditions: lost })).toBeNull()
    const restored = conditionsWith(restoreReason({ id: 'sv-1', created_at: START }, new Map()))
    expect(text({ status: 'RUNNING', conditions: restored })).toBeNull()
  })

  it('reads nothing after canceling it', () => {
    expect(text({ desired_status: 'TERMINATED', waiting_reason: NO_CAPACITY })).toBeNull()
  })
})

describe('a learner with a lab', () => {
  it('reads nothing while all is well', () => {
    expect(text({ status: 'RUNNING' })).toBeNull()
    expect(text({ status: 'INSTANTIATING' })).toBeNull()
  })

  it('reads that devices are missing', () => {
    const pipeline = newPipeline('instantiate', 2)
    const shown = text({ status: 'RUNNING', pipeline })
    expect(shown).toMatch(/^Some devices of your lab are not up[.] Wait a few minutes[.]/)
  })

  it('reads that it starts late', () => {
    expect(text({ status: 'INSTANTIATING' }, 20)).toBe(
      'Your lab takes longer than usual to start. Wait a few minutes. If nothing changes, choose Retry, or ask your instructor.',
    )
  })

  it.each<[string, Reason, string]>([
    [
      WORKER_UNAVAILABLE,
      reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' }),
      "LCM can't see whether your lab is running. Keep working if your lab responds. " +
        'If it does not, wait a few minutes, then ask your instructor.',
    ],
    [
      WORKER_UNAVAILABLE,
      reason('lab_down', { worker: 'metal-1', status: 'STOPPED', restarting: true }),
      'The machine of your lab is down. Wait a few minutes. If nothing changes, ask your instructor.',
    ],
    [
      LAB_STOPPED,
      reason('lab_stopped_by_restart', { worker: 'metal-1', restarted_at: START }),
      'The machine of your lab was restarted. Your lab is being started again. Wait a few minutes, then reconnect.',
    ],
    [
      LAB_STOPPED,
      reason('lab_stopped_on_cml', { state: 'STOPPED' }),
      'Your lab is stopped. To start it again, choose Retry.',
    ],
    [
      LAB_STOPPED,
      reason('lab_stopped_by_termination', { worker: 'metal-1' }),
      'Your lab has stopped. Wait a few minutes. If nothing changes, choose Retry, or ask your instructor.',
    ],
    [
      WORKER_UNAVAILABLE,
      reason('worker_gone'),
      "Your lab can't be used at the moment. Wait a few minutes. If nothing changes, ask your instructor.",
    ],
  ])('reads what to do when %s holds because of %o', (type, because, expected) => {
    expect(running(type, because)).toBe(expected)
  })

  it('reads no name of a machine', () => {
    const shown = running(WORKER_UNAVAILABLE, reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' }))
    expect(shown).not.toContain('metal')
  })
})
