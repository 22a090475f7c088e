import { toInstant } from '@lcm/domain/instant'
import { describe, expect, it } from 'vitest'
import { type LabRig, MINUTE_MS } from './testing/lab-rig.ts'
import { type Happening, NO_TIMEOUT, story, undisturbed } from './testing/session-incident-story.ts'

const becomes = (rig: LabRig, status: 'RUNNING' | 'STOPPED' | 'TERMINATED') =>
  rig.changeWorker({
    status,
    service_status: status === 'RUNNING' ? 'AVAILABLE' : 'UNAVAILABLE',
    entered_status_at: toInstant(rig.clock.now()),
  })

const isTerminated: Happening = async rig => {
  await becomes(rig, 'TERMINATED')
  return 'goes on'
}
const isAwayForAWhile: Happening = async rig => {
  await becomes(rig, 'STOPPED')
  rig.clock.after(15 * MINUTE_MS, () => void becomes(rig, 'RUNNING'))
  return 'goes on'
}

describe('a worker that is lost before a change', () => {
  it(
    'permanently, ends running sessions, has others placed again, and keeps no capacity reserved',
    async () => {
      for (const index of (await undisturbed()).keys()) {
        const { rig, session } = await story({ at: index + 1, when: 'before' }, isTerminated)
        const hadBegun = session.state_history.some(({ to }) => to === 'READY')
        expect(['PENDING', 'TERMINATED', 'ARCHIVED']).toContain(session.status)
        expect(session.status === 'PENDING').toBe(!hadBegun)
        expect((await rig.worker()).reservations).toEqual({})
      }
    },
    NO_TIMEOUT,
  )

  it(
    'for a while, has its labs deleted and their capacity released when it is back',
    async () => {
      for (const index of [...(await undisturbed()).keys()].filter(each => each % 2 === 0)) {
        const { rig, session } = await story({ at: index + 1, when: 'before' }, isAwayForAWhile, {
          afterwardsMs: 20 * MINUTE_MS,
        })
        expect(['PENDING', 'TERMINATED', 'ARCHIVED']).toContain(session.status)
        expect([index, await rig.labsThere()]).toEqual([index, []])
        expect([index, (await rig.worker()).reservations]).toEqual([index, {}])
      }
    },
    NO_TIMEOUT,
  )
})
