import type { LabletSession, SessionStatus } from '@lcm/domain/session/lablet-session'
import { describe, expect, it } from 'vitest'
import { MINUTE_MS } from '../world/durations.ts'
import { aClass } from './class-fixture.ts'

const inMinutes = (nowMs: number, minutes: number): string => new Date(nowMs + minutes * MINUTE_MS).toISOString()

describe('a session', () => {
  it('booked now runs with access, ends on time and leaves nothing behind', async () => {
    const { world, operator, learner, over } = await aClass(301)
    const { id: worker } = await operator.createAndRun('metal-1')
    const { id } = await learner.book('two')
    const running = await learner.until(id, 'RUNNING', 10 * MINUTE_MS)
    const { public_ip, https_endpoint } = await world.worker(worker)
    expect(running.worker_id).toBe(worker)
    expect(running.access.map(({ node, protocol }) => `${node} ${protocol}`)).toEqual(['R0 serial', 'R1 serial'])
    for (const { host, port } of running.access) {
      expect([public_ip, new URL(https_endpoint ?? '').hostname]).toContain(host)
      expect(port).toBeGreaterThanOrEqual(2000)
    }
    expect(world.sessions.existingLabs()).toHaveLength(1)
    const archived = await learner.until(id, 'ARCHIVED')
    expect(archived.state_history.map(({ to }) => to)).toEqual([
      ...['PENDING', 'SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING', 'STOPPING', 'STOPPED', 'ARCHIVED'],
    ])
    expect(world.sessions.existingLabs()).toEqual([])
    expect(await world.worker(worker)).toMatchObject({ reservations: {}, ports: {} })
    await over()
  })

  const PHASES: readonly SessionStatus[] = ['PENDING', 'SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING', 'STOPPING']
  it.each(PHASES)('canceled while %s leaves nothing behind', async phase => {
    const { world, operator, learner, over } = await aClass(302)
    await operator.set({ schedule_ahead_minutes: 35 })
    await operator.createAndRun('metal-1')
    const start = inMinutes(world.time.clock.now(), phase === 'PENDING' ? 60 : 15)
    const { id } = await learner.book('two', { start })
    await learner.until(id, phase)
    await learner.cancel(id)
    const isNormalEnd = phase === 'STOPPING'
    await world.untilTrue(
      'its end',
      () => /ARCHIVED|TERMINATED/.test(world.sessions.sessions.get(id)?.status ?? ''),
      10 * MINUTE_MS,
    )
    expect(world.sessions.existingLabs()).toEqual([])
    if (!isNormalEnd) expect(await world.session(id)).toMatchObject({ status: 'TERMINATED', last_error: null })
    await over()
  })

  it('without capacity has a reason, creates the workers that packing needs in one batch, and is placed', async () => {
    const { world, operator, learner, over } = await aClass(303)
    await operator.createAndRun('metal-1')
    // Five nodes run without a license: four labs of four need four workers, of which one is there.
    const booked = await Promise.all([1, 2, 3, 4].map(() => learner.book('four', { duration_minutes: 60 })))
    const ids = booked.map(({ id }) => id)
    await world.runFor(5_000)
    const waiting = [...world.sessions.sessions.values()].filter(({ status }) => status === 'PENDING')
    expect(waiting).toHaveLength(3)
    for (const { waiting_reason } of waiting) expect(waiting_reason).not.toBeNull()
    for (const id of ids) await learner.until(id, 'RUNNING')
    expect(world.workers()).toHaveLength(4)
    const purchases = await world.store.journal.query({ streams: ['scaling'], limit: 1000 })
    const bought = purchases.filter(({ body }) => 'outcome' in body && String(body.outcome).startsWith('scale_up'))
    expect(bought.map(({ body }) => ('outcome' in body ? body.outcome : ''))).toEqual(['scale_up_accepted'])
    await over()
    expect(world.invariants.machines.size).toBe(4)
  })

  it('resumes a paused worker instead of creating another', async () => {
    const { world, operator, learner, over } = await aClass(304)
    const { id } = await operator.createAndRun('metal-1')
    await world.until(id, 'STOPPED', 120 * MINUTE_MS)
    const session = await learner.book('two')
    await learner.until(session.id, 'RUNNING')
    expect(world.workers()).toHaveLength(1)
    await over()
  })
})

/** Why the session was torn down. */
function teardownOf({ state_history }: LabletSession) {
  const because = state_history.find(({ to }) => to === 'STOPPING')?.because
  return { code: because?.code, message: because?.message }
}

describe('a session that loses', () => {
  it('its worker to a manual termination goes on elsewhere, and so does the next', async () => {
    const { world, operator, manual, learner, over } = await aClass(305)
    await operator.set({ schedule_ahead_minutes: 35 })
    const { id } = await operator.createAndRun('metal-1')
    const running = await learner.book('two', { duration_minutes: 60 })
    await learner.until(running.id, 'RUNNING')
    const start = inMinutes(world.time.clock.now(), 25)
    const later = await learner.book('two', { start })
    await learner.until(later.id, 'SCHEDULED')
    manual.terminate(await manual.machineOf(id))
    await world.until(id, 'TERMINATED')
    const moved = await learner.until(running.id, 'RUNNING', 60 * MINUTE_MS)
    expect([moved.worker_id === id, moved.last_error]).toEqual([false, null])
    const placed = await learner.until(later.id, 'RUNNING', 60 * MINUTE_MS)
    expect(placed.worker_id).not.toBeNull()
    await over()
  })

  it('its lab to a manual deletion ends with its reason', async () => {
    const { world, operator, manual, learner, over } = await aClass(306)
    const { id } = await operator.createAndRun('metal-1')
    const { id: session } = await learner.book('two', { duration_minutes: 60 })
    await learner.until(session, 'RUNNING')
    manual.removeLabs(await manual.machineOf(id))
    const ended = await learner.until(session, 'TERMINATED', 45 * MINUTE_MS)
    expect(teardownOf(ended)).toEqual({ code: 'lab_removed', message: ended.last_error })
    expect(world.workers()[0]).toMatchObject({ reservations: {}, ports: {} })
    await over()
  })
})
