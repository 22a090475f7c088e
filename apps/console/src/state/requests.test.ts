import { apiClient } from '@lcm/client/client'
import { asView, aWorker } from '@lcm/testkit/builders'
import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { FakeApi } from '../testing/fake-api.ts'
import { liveState } from './live-state.ts'
import { noticeBoard } from './notices.ts'
import { requestTracker } from './requests.ts'

function aDesk() {
  const api = new FakeApi()
  const worker = asView(aWorker({ id: 'w-1', name: 'metal-1', version: 5 }))
  const { live } = liveState()
  const workers = live.worker
  api.workers.set(worker.id, worker)
  workers.put(worker)
  const notices = noticeBoard(manualClock())
  const requests = requestTracker({ client: apiClient(api.transport), live, notices })
  const ask = (verb: 'stop' | 'terminate') =>
    requests.send({ kind: 'worker', ...worker }, verb, client =>
      client.call(`${verb}Worker`, { params: { id: worker.id }, body: {} }),
    )
  const create = (name: string) =>
    requests.create('worker', name, client => client.call('createWorker', { body: { template_name: 'metal', name } }))
  return { api, worker, workers, notices, requests, ask, create }
}

describe('asking', () => {
  it('stays pending after the response until the event stream delivers the version', async () => {
    const { worker, workers, requests, ask } = aDesk()
    const answered = ask('stop')
    expect(requests.pendingVerbOf(worker.id)).toBe('stop')
    await answered
    expect(requests.pendingVerbOf(worker.id)).toBe('stop')
    workers.put({ ...worker, version: 6, desired_status: 'STOPPED' })
    expect(requests.pendingVerbOf(worker.id)).toBeNull()
  })

  it('is over at once when the stream was quicker than the answer', async () => {
    const { worker, workers, requests, ask } = aDesk()
    const answered = ask('stop')
    workers.put({ ...worker, version: 7 })
    expect(requests.pendingVerbOf(worker.id)).toBe('stop')
    await answered
    expect(requests.pendingVerbOf(worker.id)).toBeNull()
  })

  it('shows the reason of the API for a refusal', async () => {
    const { api, worker, notices, requests, ask } = aDesk()
    api.refusal = { code: 'worker_protected', detail: 'metal-1 is protected' }
    await ask('terminate')
    expect(requests.pendingVerbOf(worker.id)).toBeNull()
    expect(notices.shown.value).toMatchObject([
      { kind: 'refused', title: 'Could not terminate metal-1', detail: 'metal-1 is protected' },
    ])
  })

  it('leaves a refusal to the caller that handles it', async () => {
    const { api, worker, notices, requests } = aDesk()
    api.refusal = { code: 'worker_has_sessions', detail: '2 sessions live on metal-1' }
    const refusals: unknown[] = []
    const isTaken = await requests.send(
      { kind: 'worker', ...worker },
      'stop',
      client => client.call('stopWorker', { params: { id: worker.id }, body: {} }),
      refusal => refusals.push(refusal) > 0,
    )
    expect([isTaken, refusals.length, notices.shown.value]).toEqual([false, 1, []])
    expect(requests.pendingVerbOf(worker.id)).toBeNull()
  })

  it('ends when the worker is deleted', async () => {
    const { worker, workers, requests, ask } = aDesk()
    await ask('terminate')
    workers.remove(worker.id, 9)
    expect(requests.pendingVerbOf(worker.id)).toBeNull()
  })
})

describe('creating', () => {
  it('lists a creation until the event stream delivers it', async () => {
    const { worker, workers, requests, create } = aDesk()
    await create('metal-9')
    expect(requests.creations.value).toEqual([{ kind: 'worker', id: 'w-new', name: 'metal-9' }])
    workers.put({ ...worker, id: 'w-new', version: 1 })
    expect(requests.creations.value).toEqual([])
    workers.remove('w-new', 2)
    expect(requests.creations.value).toEqual([])
  })

  it('leaves a refusal to the form', async () => {
    const { api, notices, requests, create } = aDesk()
    api.refusal = { code: 'already_exists', detail: 'that name is taken' }
    await expect(create('metal-9')).rejects.toThrow('that name is taken')
    expect(notices.shown.value).toEqual([])
    expect(requests.creations.value).toEqual([])
  })
})
