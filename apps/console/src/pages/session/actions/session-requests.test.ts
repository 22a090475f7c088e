import { storedDefinition } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { aDefinition, aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { liveState } from '../../../state/live-state.ts'
import { noticeBoard } from '../../../state/notices.ts'
import { requestTracker } from '../../../state/request-tracker.ts'
import { ConsoleApi } from '../../../testing/console-api-fixture.ts'
import { requestExtend } from './session-requests.ts'

it('leaves the refusal of an extension to the form, so that the input is kept', async () => {
  const { plane, client } = new ConsoleApi()
  const { live } = liveState()
  const session = aSession({ status: 'STOPPING' })
  await plane.put('definitions', storedDefinition(aDefinition()))
  await plane.put('sessions', session)
  live.session.put(session)
  const notices = noticeBoard(manualClock())
  const requests = requestTracker({ client, live, notices })
  await expect(requestExtend(requests, session, 30)).rejects.toThrow('the session is STOPPING')
  expect([notices.shown.value, requests.pendingVerbOf(session.id)]).toEqual([[], null])
})
