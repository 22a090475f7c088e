import { ApiError, UnreachableError } from '@lcm/client/client'
import { describe, expect, it } from 'vitest'
import { aControlPlane, METAL } from './a-control-plane.ts'
import { aWorker } from './test-data-builders.ts'

const create = { body: { template_name: 'metal' } } as const

describe('the API in memory', () => {
  it('answers clients of any role or service as the real one does', async () => {
    const plane = aControlPlane()
    await plane.client().call('createTemplate', { body: METAL })
    const { id } = await plane.client('operator').call('createWorker', create)
    const seen = await plane.client('worker-controller').call('getWorker', { params: { id } })
    expect([seen.id, seen.status]).toEqual([id, 'PENDING'])
    await expect(plane.client('user').call('createWorker', create)).rejects.toMatchObject({
      problem: { code: 'forbidden' },
    })
  })

  it('records the requests with their routes', async () => {
    const plane = aControlPlane()
    await plane.send('GET', 'workers')
    await plane.send('GET', 'nowhere')
    expect(plane.requests.map(({ route, status }) => [route, status])).toEqual([
      ['listWorkers', 200],
      [null, 404],
    ])
  })
})

describe('documents', () => {
  it('are written as they are, past the rules of the API, and read back by it', async () => {
    const plane = aControlPlane()
    await plane.put('workers', aWorker({ id: 'w-9', status: 'STOPPED' }))
    await plane.edit('workers', 'w-9', { status: 'FAILED' })
    expect((await plane.send('GET', 'workers/w-9')).json).toMatchObject({ status: 'FAILED', version: 2 })
    await plane.remove('workers', 'w-9')
    expect(await plane.all('workers')).toEqual([])
    await expect(plane.get('workers', 'w-9')).rejects.toThrow('workers has no w-9')
  })

  it('are published while the announcer runs', async () => {
    const plane = aControlPlane()
    const stop = plane.run('announcer')
    await plane.put('workers', aWorker({ id: 'w-9' }))
    await plane.clock.advance(0)
    const { entries } = await plane.changeKeys.source('/lcm/workers/').list(new AbortController().signal)
    expect(entries.map(({ key }) => key)).toEqual(['/lcm/workers/w-9'])
    await stop()
  })
})

it('a listener can change documents before a request, which then loses the race', async () => {
  const plane = aControlPlane()
  await plane.put('workers', aWorker())
  plane.beforeRequest(({ route }) =>
    route === 'patchWorker' ? plane.edit('workers', 'w-1', { cordoned: true }) : undefined,
  )
  const patch = { params: { id: 'w-1' }, body: { labels: {} }, ifMatch: 1 }
  await expect(plane.client().call('patchWorker', patch)).rejects.toMatchObject({
    problem: { code: 'version_mismatch' },
  })
  expect(plane.requestsOf('patchWorker')).toMatchObject([{ id: 'w-1', ifMatch: 1, status: 412, body: { labels: {} } }])
})

it('a new term is registered, after which an older one is refused', async () => {
  const plane = aControlPlane()
  await plane.registerTerm('worker-controller', 2)
  await expect(plane.registerTerm('worker-controller', 1)).rejects.toMatchObject({ problem: { code: 'stale_leader' } })
})

describe('a fault', () => {
  it('keeps a request from arriving', async () => {
    const plane = aControlPlane()
    plane.fail({ effect: 'unreachable', times: 1 })
    await expect(plane.client().call('createTemplate', { body: METAL })).rejects.toThrow(UnreachableError)
    expect((await plane.client().call('listTemplates', { query: {} })).items).toEqual([])
  })

  it('loses the response of a request that was executed', async () => {
    const plane = aControlPlane()
    plane.fail({ route: 'createTemplate', effect: 'lost_response', times: 1 })
    await expect(plane.client().call('createTemplate', { body: METAL })).rejects.toThrow(UnreachableError)
    const { items } = await plane.client().call('listTemplates', { query: {} })
    expect(items.map(({ name }) => name)).toEqual(['metal'])
  })

  it('refuses requests of one route until it is healed', async () => {
    const plane = aControlPlane()
    plane.fail({ route: 'listWorkers', effect: 'store_unavailable' })
    for (const _ of [1, 2]) await expect(plane.client().call('listWorkers', { query: {} })).rejects.toThrow(ApiError)
    expect((await plane.send('GET', 'worker-templates')).status).toBe(200)
    plane.heal()
    expect((await plane.client().call('listWorkers', { query: {} })).items).toEqual([])
  })
})
