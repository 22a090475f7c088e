import { withReservation } from '@lcm/domain/calendar/worker-ledger'
import { manualClock } from '@lcm/testkit/manual-clock'
import { aSession, asView, aTemplate, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { ConsoleApi } from '../testing/console-api-fixture.ts'
import { liveState } from './live-state.ts'
import { noticeBoard } from './notices.ts'
import { requestTracker } from './request-tracker.ts'

const NOW = '2026-01-01T00:00:00.000Z'

async function aDesk() {
  const api = new ConsoleApi()
  const { plane } = api
  const worker = asView(aWorker({ id: 'w-1', name: 'metal-1', version: 5 }))
  const { live } = liveState()
  const workers = live.worker
  await plane.put('workers', aWorker({ id: 'w-1', name: 'metal-1', version: 5 }))
  await plane.put('templates', aTemplate())
  workers.put(worker)
  const notices = noticeBoard(manualClock())
  const requests = requestTracker({ client: api.client, live, notices })
  const ask = (verb: 'stop' | 'terminate') =>
    requests.send({ kind: 'worker', ...worker }, verb, client =>
      client.call(`${verb}Worker`, { params: { id: worker.id }, body: {} }),
    )
  const create = (name: string) =>
    requests.create('worker', name, client => client.call('createWorker', { body: { template_name: 'metal', name } }))
  return { plane, worker, workers, notices, requests, ask, create }
}

describe('asking', () => {
  it('stays pending after the response until the event stream delivers the version', async () => {
    const { worker, workers, requests, ask } = await aDesk()
    const answered = ask('stop')
    expect(requests.pendingVerbOf(worker.id)).toBe('stop')
    await answered
    expect(requests.pendingVerbOf(worker.id)).toBe('stop')
    workers.put({ ...worker, version: 6, desired_status: 'STOPPED' })
    expect(requests.pendingVerbOf(worker.id)).toBeNull()
  })

  it('ends at once when the stream was faster than the response', async () => {
    const { worker, workers, requests, ask } = await aDesk()
    const answered = ask('stop')
    workers.put({ ...worker, version: 7 })
    expect(requests.pendingVerbOf(worker.id)).toBe('stop')
    await answered
    expect(requests.pendingVerbOf(worker.id)).toBeNull()
  })

  it('shows the reason of the API for a refusal', async () => {
    const { plane, worker, notices, requests, ask } = await aDesk()
    await plane.edit('workers', 'w-1', { protected: true })
    await ask('terminate')
    expect(requests.pendingVerbOf(worker.id)).toBeNull()
    expect(notices.shown.value).toMatchObject([
      {
        kind: 'refused',
        title: 'Could not terminate metal-1',
        detail: expect.stringContaining('metal-1 is protected'),
      },
    ])
  })

  it('leaves a refusal to the caller that handles it', async () => {
    const { plane, worker, notices, requests } = await aDesk()
    await plane.put('workers', withReservation(await plane.get('workers', 'w-1'), 'ls-1', aSession().needs, NOW))
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
    const { worker, workers, requests, ask } = await aDesk()
    await ask('terminate')
    workers.remove(worker.id, 9)
    expect(requests.pendingVerbOf(worker.id)).toBeNull()
  })
})

describe('creating', () => {
  it('lists a creation until the event stream delivers it', async () => {
    const { plane, worker, workers, requests, create } = await aDesk()
    await create('metal-9')
    const id = (await plane.all('workers')).find(({ name }) => name === 'metal-9')?.id ?? ''
    expect(requests.creations.value).toEqual([{ kind: 'worker', id, name: 'metal-9' }])
    workers.put({ ...worker, id, version: 1 })
    expect(requests.creations.value).toEqual([])
    workers.remove(id, 2)
    expect(requests.creations.value).toEqual([])
  })

  it('leaves a refusal to the form', async () => {
    const { plane, notices, requests, create } = await aDesk()
    await plane.remove('templates', 'wt-1')
    await expect(create('metal-9')).rejects.toMatchObject({ problem: { code: 'template_not_found' } })
    expect(notices.shown.value).toEqual([])
    expect(requests.creations.value).toEqual([])
  })
})
