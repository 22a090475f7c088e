import type { Worker } from '@lcm/domain/worker/worker'
import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { LICENSE } from '../world/planted-secrets.ts'
import type { WorldOptions } from '../world/world.ts'
import { aStory, type Story } from './story-fixture.ts'

/** A worker that runs and holds a license. */
async function licensed(seed: number, options: WorldOptions = {}): Promise<Story & { id: string; machine: string }> {
  const story = await aStory(seed, options)
  const { id } = await story.operator.createAndRun('metal-1', { license: LICENSE })
  await untilLicense(story, 'REGISTERED')
  const machine = await story.manual.machineOf(id)
  expect(story.manual.seats()).toEqual([machine])
  return { ...story, id, machine }
}

const untilLicense = ({ world }: Story, status: Worker['license']['status'], limitMs?: number) =>
  world.untilTrue(status, () => world.workers()[0]?.license.status === status, limitMs)

const startsOf = ({ world }: Story) => world.mutations.filter(({ act }) => act === 'start').length

describe('a license', () => {
  it('is registered as soon as the worker runs and returned before its machine is terminated', async () => {
    const { world, operator, manual, id, done } = await licensed(101)
    expect(await world.worker(id)).toMatchObject({ license: { pending_operation: null, last_error: null } })
    await operator.terminate(id)
    await world.until(id, 'TERMINATED')
    expect(world.mutations.map(({ act }) => act).filter(act => act !== 'launch')).toEqual(
      expect.arrayContaining(['register', 'deregister', 'terminate']),
    )
    expect(manual.seats()).toEqual([])
    expect(await operator.leaks()).toEqual([])
    await done()
  })

  it('is returned on request, and the worker stays', async () => {
    const story = await licensed(102)
    const { world, operator, manual, id, done } = story
    await operator.unlicense(id)
    await untilLicense(story, 'UNREGISTERED')
    expect(manual.seats()).toEqual([])
    await world.runFor(10 * MINUTE_MS)
    expect(await world.worker(id)).toMatchObject({ status: 'RUNNING', license: { status: 'UNREGISTERED' } })
    await done()
  })

  it('whose return never reached the Smart Account is recorded before the machine is terminated', async () => {
    const { world, operator, manual, id, machine, done } = await licensed(103)
    manual.smartAccountReached(machine, false)
    await operator.terminate(id)
    await world.until(id, 'TERMINATED')
    expect(manual.seats()).toEqual([machine])
    expect(await operator.leaks()).toMatchObject([{ worker_id: id, resolved_at: null }])
    await done()
  })

  it('of an unreachable server is waited for two hours, then recorded as lost', async () => {
    const { world, operator, manual, id, done } = await licensed(104)
    world.access.isCmlCut = true
    await operator.terminate(id)
    await world.until(id, 'TERMINATING')
    await world.runFor(115 * MINUTE_MS)
    const waiting = await world.worker(id)
    expect(waiting.status).toBe('TERMINATING')
    expect(waiting.conditions).toContainEqual(expect.objectContaining({ type: 'ReturningLicense', status: true }))
    expect(world.liveMachines()).toBe(1)
    await world.until(id, 'TERMINATED', 20 * MINUTE_MS)
    expect(manual.seats()).toHaveLength(1)
    expect(await operator.leaks()).toMatchObject([{ worker_id: id }])
    await done()
  })

  it('of a server that comes back in time is returned', async () => {
    const { world, operator, manual, id, done } = await licensed(105)
    world.access.isCmlCut = true
    await operator.terminate(id)
    await world.runFor(HOUR_MS)
    world.access.isCmlCut = false
    await world.until(id, 'TERMINATED', 10 * MINUTE_MS)
    expect(manual.seats()).toEqual([])
    expect(await operator.leaks()).toEqual([])
    await done()
  })

  it('of a stopped worker is returned after one more boot', async () => {
    const story = await licensed(106)
    const { world, operator, manual, id, done } = story
    await operator.stop(id)
    await world.until(id, 'STOPPED')
    expect(manual.seats()).toHaveLength(1)
    await operator.terminate(id)
    await world.until(id, 'TERMINATED')
    expect(startsOf(story)).toBeGreaterThan(0)
    expect(manual.seats()).toEqual([])
    expect(await operator.leaks()).toEqual([])
    await done()
  })

  it('of a stopped worker is only recorded if the settings forbid the boot', async () => {
    const story = await licensed(107)
    const { world, operator, manual, id, done } = story
    await operator.set({ license_on_terminate: 'record' })
    await operator.stop(id)
    await world.until(id, 'STOPPED')
    await operator.terminate(id)
    await world.until(id, 'TERMINATED')
    expect(startsOf(story)).toBe(0)
    expect(manual.seats()).toHaveLength(1)
    expect(await operator.leaks()).toMatchObject([{ worker_id: id }])
    await done()
  })

  it('of a manually terminated machine is recorded as lost', async () => {
    const { world, operator, manual, id, machine, done } = await licensed(108)
    manual.terminate(machine)
    await world.until(id, 'TERMINATED', 30 * MINUTE_MS)
    expect(manual.seats()).toEqual([machine])
    expect(await operator.leaks()).toMatchObject([{ worker_id: id }])
    await done()
  })

  it('is released while the worker is stopped if the settings say so, and registered again after the next start', async () => {
    const story = await licensed(109)
    const { world, operator, manual, id, machine, done } = story
    await operator.set({ license_on_stop: 'release' })
    await world.runFor(MINUTE_MS)
    // Set again: with `license_on_stop: keep` the token is deleted after the registration.
    await operator.license(id)
    await untilLicense(story, 'REGISTERED')
    await operator.stop(id)
    await world.until(id, 'STOPPED')
    expect(manual.seats()).toEqual([])
    await operator.start(id)
    await world.until(id, 'RUNNING')
    await untilLicense(story, 'REGISTERED')
    expect(manual.seats()).toEqual([machine])
    await done()
  })

  it('that was registered manually is returned too, or recorded if that fails', async () => {
    const { world, operator, manual, done } = await aStory(111)
    const { id } = await operator.createAndRun('metal-1')
    const machine = await manual.machineOf(id)
    manual.onCml(machine, 'POST start-lab', { username: 'ada' })
    manual.register(machine)
    await operator.terminate(id)
    await world.until(id, 'TERMINATED', 3 * HOUR_MS)
    expect(manual.seats()).toEqual([machine])
    expect(await operator.leaks()).toMatchObject([{ worker_id: id }])
    await done()
  })

  it('that CML refuses is shown with its reason and never retried automatically', async () => {
    const { world, operator, id, machine, manual, done } = await licensed(110)
    await operator.unlicense(id)
    await world.untilTrue('given back', () => manual.seats().length === 0)
    manual.onCml(machine, 'PATCH faults', { license_tokens: 'invalid' })
    await operator.license(id)
    await world.untilTrue('a refusal', () => world.workers()[0]?.license.status === 'FAILED')
    const registers = world.mutations.filter(({ act }) => act === 'register').length
    await world.runFor(HOUR_MS / 2)
    expect(world.mutations.filter(({ act }) => act === 'register')).toHaveLength(registers)
    expect((await world.worker(id)).license).toMatchObject({ pending_operation: null, last_error: expect.any(String) })
    const writes = world.invariants.accepted.length
    await operator.terminate(id)
    await world.until(id, 'TERMINATED')
    expect(world.invariants.accepted.length - writes).toBeLessThan(10)
    await done()
  })
})
