import { canMove } from '@lcm/domain/worker/lifecycle'
import { WORKER_STATUSES } from '@lcm/domain/worker/worker'
import { describe, expect, it } from 'vitest'
import { aFleet } from '../../testing/a-fleet.ts'

/** A worker in this status, however it got there. */
async function workerIn(fleet: ReturnType<typeof aFleet>, status: (typeof WORKER_STATUSES)[number]) {
  const { id } = await fleet.create()
  const launched = status === 'PENDING' ? {} : { ec2_instance_id: 'i-1' }
  return fleet.edit(id, () => ({
    status,
    desired_status: status === 'TERMINATING' ? 'TERMINATED' : 'RUNNING',
    ...launched,
  }))
}

describe.each(WORKER_STATUSES)('a report for a worker that is %s', from => {
  it('is accepted for a legal move, and otherwise refused without a change', async () => {
    const fleet = aFleet()
    for (const to of WORKER_STATUSES.filter(each => each !== from)) {
      const before = await workerIn(fleet, from)
      // A machine belongs to one worker only, so they are tested one after another.
      const more = from === 'PENDING' && to === 'PROVISIONING' ? { ec2_instance_id: 'i-2' } : {}
      const answer = await fleet.report(before.id, before.version, { status: to, ...freed(from, to), ...more })
      expect(answer.status, `${from} -> ${to}: ${answer.body}`).toBe(canMove(from, to) ? 200 : 409)
      const after = await fleet.get(before.id)
      expect(after.status).toBe(canMove(from, to) ? to : from)
      if (!canMove(from, to)) expect(after.version).toBe(before.version)
      await fleet.edit(before.id, () => ({ ec2_instance_id: null }))
    }
  })

  it('is the only way to change the status: people change the desired status', async () => {
    const fleet = aFleet()
    const { id } = await workerIn(fleet, from)
    for (const verb of ['start', 'stop', 'terminate', 'drain', 'refresh']) {
      await fleet.act(id, verb, verb === 'drain' ? {} : { reason: 'because' })
      expect((await fleet.get(id)).status, verb).toBe(from)
    }
  })

  it('is required before its record can be removed', async () => {
    const fleet = aFleet()
    const { id } = await workerIn(fleet, from)
    const answer = await fleet.send('DELETE', `workers/${id}`)
    expect(answer.status).toBe(from === 'TERMINATED' ? 204 : 409)
  })
})

/** PENDING again means that there is no machine. */
const freed = (from: string, to: string): object =>
  to === 'PENDING' && from !== 'PENDING' ? { ec2_instance_id: null } : {}
