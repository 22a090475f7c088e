import { apiClient } from '@lcm/client/client'
import { aSession, aWorker } from '@lcm/testkit/builders'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { liveState } from '../../../state/live-state.ts'
import { noticeBoard } from '../../../state/notices.ts'
import { requestTracker } from '../../../state/requests.ts'
import { FakeApi } from '../../../testing/fake-api.ts'
import { requestExtend } from './session-requests.ts'

it('leaves it to the form to say why more time was refused, so that it stays with what was typed', async () => {
  const api = new FakeApi()
  api.workers.set('w-1', aWorker())
  api.refusal = { code: 'session_over', detail: 'it is STOPPING' }
  const { live } = liveState()
  const session = aSession()
  live.session.put(session)
  const notices = noticeBoard(manualClock())
  const requests = requestTracker({ client: apiClient(api.transport), live, notices })
  await expect(requestExtend(requests, session, 30)).rejects.toThrow('it is STOPPING')
  expect([notices.shown.value, requests.pendingVerbOf(session.id)]).toEqual([[], null])
})
