import { CloudError } from '@lcm/cloud/errors'
import { reason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'
import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { LICENSE } from '../world/planted-secrets.ts'
import type { Defects } from '../world/world.ts'
import { aStory, type Story } from './story-fixture.ts'

interface Doubt extends Story {
  readonly id: string
  readonly machine: string
  /** The fate of the next deregistration response, after its effect. */
  next(fate: () => unknown): void
}

/** A licensed worker whose CML responses may be lost. */
async function inDoubt(seed: number): Promise<Doubt> {
  let fate = (): unknown => undefined
  const defects: Defects = {
    cml: cml => ({
      ...cml,
      async deregister(login, signal) {
        const answer = await cml.deregister(login, signal)
        const strike = fate
        fate = () => undefined
        await strike()
        return answer
      },
    }),
  }
  const story = await aStory(seed, { defects })
  const { id } = await story.operator.createAndRun('metal-1', { license: LICENSE })
  await untilLicense(story, 'REGISTERED')
  const machine = await story.manual.machineOf(id)
  return {
    ...story,
    id,
    machine,
    next(then) {
      fate = then
    },
  }
}

const untilLicense = ({ world }: Story, status: Worker['license']['status'], limitMs?: number) =>
  world.untilTrue(status, () => world.workers()[0]?.license.status === status, limitMs)

function lost(): never {
  throw new CloudError('transient', { code: 'ECONNRESET', action: 'DELETE', message: 'the answer was lost' })
}

/** Exactly one record, which says that the return is unconfirmed. */
async function expectDoubtOnRecord({ operator, id }: Doubt): Promise<void> {
  expect(await operator.leaks()).toMatchObject([
    { worker_id: id, resolved_at: null, reason: { code: 'license_return_unconfirmed' }, udi: expect.any(String) },
  ])
}

describe('a license whose return is unconfirmed', () => {
  it('is recorded before the machine is terminated', async () => {
    const story = await inDoubt(131)
    const { world, operator, manual, id, machine, next, done } = story
    manual.smartAccountReached(machine, false)
    next(lost)
    await operator.terminate(id)
    await world.until(id, 'TERMINATED')
    expect(manual.seats()).toEqual([machine])
    await expectDoubtOnRecord(story)
    await done()
  })

  it('is recorded also when the controller died before the response', async () => {
    const story = await inDoubt(132)
    const { world, one, operator, manual, id, machine, next, done } = story
    manual.smartAccountReached(machine, false)
    next(() => one.kill())
    await operator.terminate(id)
    await world.untilTrue('a death', () => manual.seats().length === 1 && world.mutations.at(-1)?.act === 'deregister')
    world.startWorkerController('two')
    await world.until(id, 'TERMINATED')
    await expectDoubtOnRecord(story)
    await done()
  })

  it('is recorded when a user requested the return, and the worker stays', async () => {
    const story = await inDoubt(133)
    const { world, operator, manual, id, machine, next, done } = story
    manual.smartAccountReached(machine, false)
    next(lost)
    await operator.unlicense(id)
    await untilLicense(story, 'UNREGISTERED')
    await expectDoubtOnRecord(story)
    await world.runFor(HOUR_MS)
    await expectDoubtOnRecord(story)
    expect(await world.worker(id)).toMatchObject({
      status: 'RUNNING',
      license: { pending_operation: null, unsettled: null, last_error: reason('license_return_unconfirmed').message },
    })
    await done()
  })

  it('is recorded when a new license is requested before the next poll', async () => {
    const story = await inDoubt(134)
    const { operator, manual, id, machine, next, done } = story
    manual.smartAccountReached(machine, false)
    next(() => operator.license(id).then(lost))
    await operator.unlicense(id)
    await untilLicense(story, 'DEREGISTERING')
    await untilLicense(story, 'REGISTERING')
    await expectDoubtOnRecord(story)
    await done()
  })

  it('is recorded when it was released for a stop and requested again after the next start', async () => {
    const story = await inDoubt(135)
    const { world, operator, manual, id, machine, next, done } = story
    await operator.set({ license_on_stop: 'release' })
    await world.runFor(MINUTE_MS)
    await operator.license(id)
    await untilLicense(story, 'REGISTERED')
    manual.smartAccountReached(machine, false)
    next(lost)
    await operator.stop(id)
    await world.until(id, 'STOPPED')
    await expectDoubtOnRecord(story)
    manual.smartAccountReached(machine, true)
    await operator.start(id)
    await untilLicense(story, 'REGISTERED')
    await done()
  })

  it('is not recorded when the response arrived, despite a concurrent write', async () => {
    for (const [seed, end] of [
      [136, 'unlicense'],
      [137, 'terminate'],
    ] as const) {
      const { world, operator, manual, id, next, done } = await inDoubt(seed)
      next(() => world.client.call('patchWorker', { params: { id }, body: { labels: { written: 'meanwhile' } } }))
      await operator[end](id)
      await world.untilTrue('given back', () => manual.seats().length === 0)
      await world.runFor(10 * MINUTE_MS)
      expect(await world.worker(id)).toMatchObject({ license: { status: 'UNREGISTERED', last_error: null } })
      expect(await operator.leaks(), end).toEqual([])
      await done()
    }
  })

  it('is not recorded when the return was stored and only its confirmation is outstanding', async () => {
    const { world, one, operator, manual, id, next, done } = await inDoubt(138)
    next(() => {
      world.access.isCmlCut = true
    })
    await operator.terminate(id)
    await world.untilTrue('given back', () => manual.seats().length === 0)
    await world.runFor(MINUTE_MS)
    expect(await world.worker(id)).toMatchObject({ license: { status: 'DEREGISTERING', unsettled: null } })
    one.kill()
    world.access.isCmlCut = false
    world.startWorkerController('two')
    await world.until(id, 'TERMINATED')
    expect(await operator.leaks()).toEqual([])
    await done()
  })
})

describe('a registration beyond its timeout', () => {
  /** The Smart Account is unreachable until the registration times out. */
  async function givenUp(seed: number): Promise<Story & { id: string; machine: string }> {
    const story = await aStory(seed)
    const { id } = await story.operator.createAndRun('metal-1')
    const machine = await story.manual.machineOf(id)
    story.manual.smartAccountReached(machine, false)
    await story.operator.license(id)
    await untilLicense(story, 'FAILED', 10 * MINUTE_MS)
    return { ...story, id, machine }
  }

  it('that then succeeds is recorded as lost when its machine dies before the next poll', async () => {
    const { world, operator, manual, id, machine, done } = await givenUp(141)
    manual.smartAccountReached(machine, true)
    await world.untilTrue('a license', () => manual.seats().length === 1)
    expect(await world.worker(id)).toMatchObject({ license: { status: 'FAILED' } })
    manual.terminate(machine)
    await world.until(id, 'TERMINATED', 30 * MINUTE_MS)
    expect(manual.seats()).toEqual([machine])
    expect(await operator.leaks()).toMatchObject([
      { worker_id: id, reason: { code: 'license_lost', params: { license: 'registering' } } },
    ])
    await done()
  })

  it('that then fails holds no license after the next poll', async () => {
    const { world, operator, manual, id, machine, done } = await givenUp(142)
    manual.onCml(machine, 'PATCH faults', { license_tokens: 'invalid', license_server: 'reached' })
    await world.untilTrue('an observation', () => world.workers()[0]?.license.unsettled === null, 20 * MINUTE_MS)
    expect(await world.worker(id)).toMatchObject({ license: { status: 'FAILED', last_error: expect.any(String) } })
    manual.terminate(machine)
    await world.until(id, 'TERMINATED', 30 * MINUTE_MS)
    expect(await operator.leaks()).toEqual([])
    await done()
  })

  it('that then succeeds is shown, and returned before its machine is terminated', async () => {
    const story = await givenUp(143)
    const { world, operator, manual, id, machine, done } = story
    manual.smartAccountReached(machine, true)
    await untilLicense(story, 'REGISTERED', 20 * MINUTE_MS)
    await operator.terminate(id)
    await world.until(id, 'TERMINATED')
    expect(manual.seats()).toEqual([])
    expect(await operator.leaks()).toEqual([])
    await done()
  })
})
