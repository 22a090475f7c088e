import { withReservation } from '@lcm/domain/calendar/worker-ledger'
import { textReason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { beforeEach, describe, expect, it } from 'vitest'
import { type SchedulerRig, schedulerRig } from './testing/scheduler-rig.ts'
import { anotherWorker, aServingWorker, aSession, atMinutes, NEEDS } from './testing/scheduling-fixtures.ts'

const MINUTE_MS = 60_000

let rig: SchedulerRig

beforeEach(async () => {
  rig = await schedulerRig()
  await rig.plane.set({ scale_up_enabled: false })
  await rig.putWorker(anotherWorker())
})

async function putOn(worker: Partial<Worker>, session: Partial<LabletSession> = {}): Promise<void> {
  await rig.putWorker(withReservation(aServingWorker(worker), 's-1', NEEDS, atMinutes(-5)))
  const timeslot = { start: atMinutes(0), end: atMinutes(600) }
  await rig.put(
    aSession({ timeslot, status: 'SCHEDULED', worker_id: 'w-1', entered_status_at: atMinutes(-5), ...session }),
  )
}

const silent: Worker['conditions'] = [{ type: 'CmlReady', status: false, reason: textReason(''), since: atMinutes(0) }]

describe('D-10: a worker that has been unavailable for two minutes is lost for a session that is due', () => {
  it.each<[string, Partial<Worker>]>([
    ['FAILED', { status: 'FAILED', entered_status_at: atMinutes(0) }],
    ['UNKNOWN', { status: 'UNKNOWN', entered_status_at: atMinutes(0) }],
    ['RUNNING with a CML that does not answer', { service_status: 'UNAVAILABLE', conditions: silent }],
  ])('when it is %s', async (_, away) => {
    await putOn(away)
    rig.begin()
    await rig.runFor(1.5 * MINUTE_MS)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-1' })
    await rig.runFor(MINUTE_MS)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-2' })
    expect((await rig.worker()).reservations).toEqual({})
  })

  it('but not when it is about to serve', async () => {
    await putOn({ status: 'STARTING', service_status: 'STARTING', entered_status_at: atMinutes(-60) })
    rig.begin()
    await rig.runFor(30 * MINUTE_MS)
    expect(rig.writes()).toEqual([])
  })
})

describe('a session with a lab on a terminated worker', () => {
  it.each(['INSTANTIATING', 'STOPPING', 'EXPIRED'] as const)(
    'is left to the lablet-controller when it is %s',
    async status => {
      await putOn({ status: 'TERMINATED' }, { status })
      rig.begin()
      await rig.runFor(15 * MINUTE_MS)
      expect(rig.writes()).toEqual([])
    },
  )
})

it('a session whose timeslot is over when its worker is lost expires and is not placed again', async () => {
  const timeslot = { start: atMinutes(-60), end: atMinutes(0) }
  await putOn({ status: 'TERMINATED' }, { timeslot })
  rig.begin()
  await rig.runFor(MINUTE_MS)
  expect((await rig.session()).status).toBe('EXPIRED')
  expect(rig.plane.requestsOf('assignSession')).toEqual([])
})
