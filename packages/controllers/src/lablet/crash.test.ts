import { describe, expect, it } from 'vitest'
import { type LabWorld, labWorld } from './testing/lab-world.ts'
import { type Happening, story, undisturbed, upTo } from './testing/story.ts'

/** Virtual time has no wall-clock limits: a story ends by itself. */
const NO_TIMEOUT = 0

/** Nothing of it is left, on its server or in the books. */
async function expectNothingLeft(world: LabWorld): Promise<void> {
  expect(await world.labsThere()).toEqual([])
  expect(await world.worker()).toMatchObject({ reservations: {}, ports: {} })
}

const dies: Happening = async (world, _, controller) => {
  world.coordination.faults.crash(controller)
  return 'dies'
}
/** Another leads at once, and this one does not know for a while. */
const isZombie: Happening = async world => {
  world.coordination.faults.loseLease('lablet-controller', { noticedAfterMs: 60_000 })
  return 'goes on'
}
const isCanceled: Happening = async (world, id) => {
  await world.cancel(id)
  return 'goes on'
}
const diesAndIsCanceled: Happening = async (world, id, controller) => {
  await isCanceled(world, id, controller)
  return dies(world, id, controller)
}

for (const when of ['before', 'after'] as const)
  describe(`${when} any change that a controller makes`, () => {
    it(
      'it may die: there is one lab while the session lasts, and none after its end',
      async () => {
        const world = await labWorld()
        const changes = await undisturbed()
        expect(changes).toEqual(expect.arrayContaining(['import', 'start', 'stop', 'wipe', 'delete', 'releaseSession']))
        for (const [index, name] of changes.entries()) {
          const { session, labsMax, isReached } = await story(world, { at: index + 1, when }, dies)
          expect([name, isReached, session.status, session.last_error, labsMax]).toEqual([
            name,
            true,
            'ARCHIVED',
            null,
            1,
          ])
          await expectNothingLeft(world)
        }
      },
      NO_TIMEOUT,
    )

    it(
      'another may lead: there is one lab while the session lasts, and none after its end',
      async () => {
        const world = await labWorld()
        for (const index of (await undisturbed()).keys()) {
          const { session, labsMax, isReached } = await story(world, { at: index + 1, when }, isZombie)
          expect([isReached, session.status, session.last_error, labsMax]).toEqual([true, 'ARCHIVED', null, 1])
          await expectNothingLeft(world)
        }
      },
      NO_TIMEOUT,
    )

    it(
      'its session may be canceled, also while it dies: it ends, and nothing is left',
      async () => {
        const world = await labWorld()
        const changes = upTo(await undisturbed(), 'stop')
        for (const happening of [isCanceled, diesAndIsCanceled])
          for (const index of changes.keys()) {
            const { session, labsMax, isReached } = await story(world, { at: index + 1, when }, happening)
            expect([isReached, session.status, session.last_error]).toEqual([true, 'TERMINATED', null])
            expect(labsMax).toBeLessThanOrEqual(1)
            await expectNothingLeft(world)
          }
      },
      NO_TIMEOUT,
    )
  })
