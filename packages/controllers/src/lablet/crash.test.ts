import { describe, expect, it } from 'vitest'
import type { LabRig } from './testing/lab-rig.ts'
import {
  dies,
  type Happening,
  isZombie,
  NO_TIMEOUT,
  story,
  undisturbed,
  upTo,
} from './testing/session-incident-story.ts'

/** Neither labs on the server nor reservations of the worker are left. */
async function expectNothingLeft(rig: LabRig): Promise<void> {
  expect(await rig.labsThere()).toEqual([])
  expect(await rig.worker()).toMatchObject({ reservations: {}, ports: {} })
}

const isCanceled: Happening = async (rig, id) => {
  await rig.cancel(id)
  return 'goes on'
}
const diesAndIsCanceled: Happening = async (rig, id, controller) => {
  await isCanceled(rig, id, controller)
  return dies(rig, id, controller)
}

/** Two happenings alternate over the changes: one before a change, the other after it. */
const isFirst = (index: number, when: 'before' | 'after') => (index % 2 === 0) === (when === 'before')

for (const when of ['before', 'after'] as const)
  describe(`${when} any change of a controller`, () => {
    it(
      'a crash leaves one lab while the session lasts, and none after its end',
      async () => {
        const changes = await undisturbed()
        expect(changes).toEqual(
          expect.arrayContaining([
            'import',
            'start',
            'extractConfiguration',
            'storeSave',
            'stop',
            'wipe',
            'delete',
            'releaseSession',
          ]),
        )
        for (const [index, name] of changes.entries()) {
          const { rig, session, labsMax, isReached } = await story({ at: index + 1, when }, dies)
          expect([name, isReached, session.status, session.last_error, labsMax]).toEqual([
            name,
            true,
            'ARCHIVED',
            null,
            1,
          ])
          await expectNothingLeft(rig)
        }
      },
      NO_TIMEOUT,
    )

    it(
      'a leader change leaves one lab while the session lasts, and none after its end',
      async () => {
        for (const index of [...(await undisturbed()).keys()].filter(each => isFirst(each, when))) {
          const { rig, session, labsMax, isReached } = await story({ at: index + 1, when }, isZombie)
          expect([isReached, session.status, session.last_error, labsMax]).toEqual([true, 'ARCHIVED', null, 1])
          await expectNothingLeft(rig)
        }
      },
      NO_TIMEOUT,
    )

    it(
      'a cancellation ends the session and leaves nothing behind, also with a crash',
      async () => {
        const changes = upTo(await undisturbed(), 'stop')
        for (const index of changes.keys()) {
          const happening = isFirst(index, when) ? isCanceled : diesAndIsCanceled
          const { rig, session, labsMax, isReached } = await story({ at: index + 1, when }, happening)
          expect([isReached, session.status, session.last_error]).toEqual([true, 'TERMINATED', null])
          expect(labsMax).toBeLessThanOrEqual(1)
          await expectNothingLeft(rig)
        }
      },
      NO_TIMEOUT,
    )
  })
