import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { describe, expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { type LabRig, MINUTE_MS } from '../testing/lab-rig.ts'
import {
  dies,
  isZombie,
  NO_TIMEOUT,
  type StoryOptions,
  story,
  undisturbed,
  upTo,
} from '../testing/session-incident-story.ts'

/** The contents of all saves of a session, oldest first. A save that can't be read fails. */
async function contentsOf(rig: LabRig, session_id: string): Promise<string[]> {
  const { items } = await rig.plane.others().call('listSaves', { query: { session_id } })
  const controller = rig.plane.others('lablet-controller')
  const read = async (id: string) => (await controller.call('getSaveTopology', { params: { id } })).topology
  return Promise.all(items.toSorted((a, b) => a.number - b.number).map(({ id }) => read(id)))
}

/** A learner who types once, and a second time later. What was saved once is never lost. */
function learner() {
  const typed = new Set<string>()
  const type = async (rig: LabRig, node: string, line: string) => {
    if (typed.has(line)) return
    typed.add(line)
    await rig.type(node, line)
  }
  let [known, wasSaved] = [0, false]
  const options: StoryOptions = {
    before: rig => rig.plane.set({ save_interval_minutes: 2 }),
    async meanwhile(rig: LabRig, session: LabletSession) {
      if (session.status !== 'RUNNING') return
      await type(rig, 'R1', 'hostname one')
      const contents = await contentsOf(rig, session.id)
      expect(contents.length).toBeGreaterThanOrEqual(known)
      known = contents.length
      wasSaved ||= contents.some(text => text.includes('hostname one'))
      if (wasSaved) {
        expect(contents.at(-1)).toContain('hostname one')
        await type(rig, 'R2', 'hostname two')
      }
    },
  }
  return options
}

for (const when of ['before', 'after'] as const)
  describe(`an incident ${when} any change of a controller that saves`, () => {
    it(
      'loses no work, leaves no save that is not whole, and stops the lab in time',
      async () => {
        const changes = await undisturbed(learner())
        expect(changes.filter(name => name === 'storeSave').length).toBeGreaterThan(2)
        const saving = [...changes.entries()].filter(
          ([, name]) => name === 'storeSave' || name === 'extractConfiguration',
        )
        for (const [index, name] of saving) {
          const happening = (index % 2 === 0) === (when === 'before') ? dies : isZombie
          const { rig, session, labsMax, isReached } = await story({ at: index + 1, when }, happening, learner())
          const reached = [name, isReached, session.status, session.last_error, labsMax]
          expect(reached).toEqual([name, true, 'ARCHIVED', null, 1])
          const contents = await contentsOf(rig, session.id)
          for (const content of contents) expect(content.split('node_definition: alpine')).toHaveLength(3)
          expect(contents.at(-1)).toContain('hostname one')
          expect(contents.at(-1)).toContain('hostname two')
          expect(await rig.labsThere()).toEqual([])
        }
      },
      NO_TIMEOUT,
    )

    it(
      'restores the saved work in one lab',
      async () => {
        const changes = upTo(await undisturbed(await resuming()), 'start')
        expect(changes).toContain('import')
        for (const index of changes.keys()) {
          const happening = (index % 2 === 0) === (when === 'before') ? dies : isZombie
          const { rig, session, labsMax, isReached } = await story({ at: index + 1, when }, happening, await resuming())
          expect([isReached, session.status, session.last_error, labsMax]).toEqual([true, 'ARCHIVED', null, 1])
          expect((await contentsOf(rig, session.id)).at(-1)).toContain('hostname earlier')
          expect(await rig.labsThere()).toEqual([])
        }
      },
      NO_TIMEOUT,
    )
  })

const EARLIER = 'ls-0'

/** An earlier session whose work the story continues with. */
async function resuming(): Promise<StoryOptions> {
  let save = ''
  return {
    async before(rig) {
      const controller = aController(rig, 'earlier')
      await rig.book(EARLIER)
      await rig.clock.advance(3 * MINUTE_MS)
      await rig.type('R1', 'hostname earlier', EARLIER)
      await rig.cancel(EARLIER)
      await rig.clock.advance(3 * MINUTE_MS)
      await controller.stop()
      save = (await rig.session(EARLIER)).save.save_id ?? ''
    },
    get booked() {
      return { restore_from: save }
    },
  }
}
