import { isUp, nodeStateAt } from '@lcm/cloud-sim/cml/labs/lab-element-states'
import { DecisionNote } from '@lcm/domain/journal-records'
import { expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aClass, type Class } from './class-fixture.ts'

/** Nodes on that machine that are up. */
const nodesUp = ({ world }: Class, machine: string): number =>
  (world.cloud.cml.contextOf(machine)?.labs ?? [])
    .flatMap(lab => lab.nodes)
    .filter(node => isUp(nodeStateAt(node, world.time.clock.now()))).length

async function inSession(seed: number) {
  const story = await aClass(seed)
  const { operator, manual, learner } = story
  const { id: worker } = await operator.createAndRun('metal-1')
  const { id } = await learner.book('two', { duration_minutes: 60 })
  const running = await learner.until(id, 'RUNNING', 10 * MINUTE_MS)
  return { ...story, story, worker, id, running, machine: await manual.machineOf(worker) }
}

it('a manually stopped machine is restarted, and so is the lab of its session', async () => {
  const { story, world, manual, worker, id, running, machine, over } = await inSession(311)
  const [lab] = world.sessions.existingLabs()
  expect(nodesUp(story, machine)).toBe(2)
  manual.stop(machine)
  await world.until(worker, 'STARTING', 10 * MINUTE_MS)
  await world.until(worker, 'RUNNING', HOUR_MS)
  const served = () => world.workers().find(each => each.id === worker)?.service_status === 'AVAILABLE'
  await world.untilTrue('its CML', served, HOUR_MS)
  await world.untilTrue('its lab', () => nodesUp(story, machine) === 2, MINUTE_MS)
  expect(world.sessions.existingLabs()).toEqual([lab])
  await world.runFor(2 * MINUTE_MS)
  const again = await world.session(id)
  expect(again).toMatchObject({ status: 'RUNNING', last_error: null, health: { status: 'OK' } })
  const { https_endpoint } = await world.worker(worker)
  const host = new URL(https_endpoint ?? '').hostname
  expect(again.access).toEqual(running.access.map(line => ({ ...line, host })))
  const decisions = await world.store.journal.query({ streams: ['decision'], subject: `session:${id}`, limit: 1000 })
  expect(decisions.map(({ body }) => ('because' in body ? body.because : null))).toContainEqual(
    expect.objectContaining({
      code: 'lab_stopped_by_restart',
      params: { worker: 'metal-1', restarted_at: expect.any(String) },
    }),
  )
  const waits = decisions.flatMap(({ body }) => {
    const { action, outcome } = DecisionNote.strip().parse(body)
    return action === 'wait' ? [outcome] : []
  })
  expect(new Set(waits), 'an outcome would repeat the reason').toEqual(new Set(['']))
  await over()
})

it('a lab that a person stops while its machine runs stays stopped', async () => {
  const { story, world, id, machine, learner, over } = await inSession(312)
  const lab = world.sessions.existingLabs()[0]?.lab ?? ''
  story.manual.stopLab(machine, lab)
  await world.runFor(20 * MINUTE_MS)
  expect(nodesUp(story, machine)).toBe(0)
  expect((await world.session(id)).conditions).toMatchObject([
    { type: 'LabStopped', status: true, reason: { code: 'lab_stopped_on_cml', params: { state: 'STOPPED' } } },
  ])
  await learner.cancel(id)
  await over()
})
