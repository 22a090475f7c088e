import { apiClient } from '@lcm/client/client'
import { aWorker } from '@lcm/testkit/builders'
import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { asksOf } from './asks.ts'
import { collection } from './collection.ts'
import { noticeBoard } from './notices.ts'
import { FakeApi } from './testing/fake-api.ts'

function aDesk() {
  const api = new FakeApi()
  const worker = aWorker({ id: 'w-1', name: 'metal-1', version: 5 })
  const workers = collection<typeof worker>()
  api.workers.set(worker.id, worker)
  workers.put(worker)
  const notices = noticeBoard(manualClock())
  return { api, worker, workers, notices, asks: asksOf({ client: apiClient(api.transport), workers, notices }) }
}

describe('asking', () => {
  it('stays asked after the answer, until the promised version is seen', async () => {
    const { worker, workers, asks } = aDesk()
    const answered = asks.ask(worker, 'stop')
    expect(asks.verbOf(worker)).toBe('stop')
    await answered
    expect(asks.verbOf(worker)).toBe('stop')
    workers.put({ ...worker, version: 6, desired_status: 'STOPPED' })
    expect(asks.verbOf(worker)).toBeNull()
  })

  it('is over at once when the stream was quicker than the answer', async () => {
    const { worker, workers, asks } = aDesk()
    const answered = asks.ask(worker, 'stop')
    workers.put({ ...worker, version: 7 })
    expect(asks.verbOf(worker)).toBe('stop')
    await answered
    expect(asks.verbOf(worker)).toBeNull()
  })

  it('tells why it was refused, in the words of the API', async () => {
    const { api, worker, notices, asks } = aDesk()
    api.refusal = { code: 'worker_protected', detail: 'metal-1 is protected' }
    await asks.ask(worker, 'terminate')
    expect(asks.verbOf(worker)).toBeNull()
    expect(notices.shown.value).toMatchObject([
      { kind: 'refused', title: 'Could not terminate metal-1', detail: 'metal-1 is protected' },
    ])
  })

  it('is over when the worker goes', async () => {
    const { worker, workers, asks } = aDesk()
    await asks.ask(worker, 'terminate')
    workers.remove(worker.id, 9)
    expect(asks.verbOf(worker)).toBeNull()
  })
})

describe('creating', () => {
  it('lists what was asked for until it is seen', async () => {
    const { worker, workers, asks } = aDesk()
    await asks.create({ template_name: 'metal', name: 'metal-9' })
    expect(asks.creations.value).toEqual([{ id: 'w-new', name: 'metal-9' }])
    workers.put({ ...worker, id: 'w-new', version: 1 })
    expect(asks.creations.value).toEqual([])
    workers.remove('w-new', 2)
    expect(asks.creations.value).toEqual([])
  })

  it('leaves a refusal to the form', async () => {
    const { api, notices, asks } = aDesk()
    api.refusal = { code: 'already_exists', detail: 'that name is taken' }
    await expect(asks.create({ template_name: 'metal' })).rejects.toThrow('that name is taken')
    expect(notices.shown.value).toEqual([])
    expect(asks.creations.value).toEqual([])
  })
})
