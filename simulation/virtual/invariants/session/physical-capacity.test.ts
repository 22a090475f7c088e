import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { withReservation, withTimes } from '@lcm/domain/calendar/worker-ledger'
import { manualClock } from '@lcm/testkit/manual-clock'
import { aServingWorker, aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { overusedMachines, shortReservations, startedTooEarly } from './physical-capacity.ts'

const session = aSession({ id: 'ls-1', status: 'RUNNING', worker_id: 'w-1' })
const { start, end } = session.timeslot
const sessions = new Map([[session.id, session]])
const reserved = (until: string) =>
  withReservation(aServingWorker({ id: 'w-1', name: 'metal-1' }), 'ls-1', session.needs, {
    since: start,
    from: start,
    until,
  })

it('finds capacity that is reserved for less than the session', () => {
  expect(shortReservations(reserved(end), sessions)).toEqual([])
  expect(shortReservations(reserved(start), sessions)).toEqual([
    `metal-1 reserves capacity for ls-1 until ${start}, and it ends at ${end}`,
  ])
  const over = new Map([[session.id, { ...session, desired_status: 'TERMINATED' as const }]])
  expect(shortReservations(reserved(start), over)).toEqual([])
})

it('finds a lab that starts before its ledger permits it', () => {
  const permitted = withTimes(reserved(end), 'ls-1', { started_at: start })
  expect(startedTooEarly(session, new Map([['w-1', permitted]]))).toEqual([])
  expect(startedTooEarly(session, new Map([['w-1', reserved(end)]]))).toEqual([
    'ls-1 starts its lab, and its capacity is not known to be free on metal-1',
  ])
})

it('finds nothing on machines that are gone', () => {
  const clock = manualClock()
  const cloud = openSimModel({ seed: 1, clock })
  const worker = { ...reserved(end), ec2_instance_id: 'i-gone' }
  expect(overusedMachines({ cloud, following: { workers: new Map([['w-1', worker]]), sessions }, clock })).toEqual([])
})
