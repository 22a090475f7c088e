import { apiClient, type Client } from '@lcm/client/client'
import type { Dispatch } from '@lcm/contract/route-spec'
import { expect, it } from 'vitest'
import { aController } from './testing/a-controller.ts'
import { type LabRig, labRig, MINUTE_MS } from './testing/lab-rig.ts'

const PAGE = 2
const COUNT = 7

/** An API with small pages, whatever limit is requested. */
function frugal({ plane }: LabRig): Client {
  const limited = (url: string) => url.replace(/(?<=\/lablet-sessions\?.*limit=)\d+/, String(PAGE))
  const dispatch: Dispatch = request => plane.dispatch({ ...request, url: limited(request.url) })
  return apiClient(dispatch, { token: 'lablet-controller' })
}

it('D-37: a session on the last page is reconciled, however long the sessions before it stay', async () => {
  const rig = await labRig()
  // No event announces these sessions: only lists show them.
  await rig.stopAnnouncing()
  for (let n = 0; n < COUNT; n += 1) await rig.book(`ls-${n}`, 30 * MINUTE_MS)
  const last = `ls-${COUNT - 1}`
  await rig.cancel(last)
  aController(rig, 'one', { client: frugal(rig) })
  await rig.clock.advance(3 * MINUTE_MS)
  expect(rig.plane.requestsOf('listSessions').some(({ query }) => query.has('cursor'))).toBe(true)
  expect((await rig.session(last)).status).toBe('TERMINATED')
})
