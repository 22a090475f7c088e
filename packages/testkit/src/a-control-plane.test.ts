import { ApiError, UnreachableError } from '@lcm/client/api-error'
import { describe, expect, it } from 'vitest'
import { aControlPlane, METAL } from './a-control-plane.ts'

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
    plane.fail({ route: 'listWorkers', effect: 'unavailable' })
    for (const _ of [1, 2]) await expect(plane.client().call('listWorkers', { query: {} })).rejects.toThrow(ApiError)
    expect((await plane.send('GET', 'worker-templates')).status).toBe(200)
    plane.heal()
    expect((await plane.client().call('listWorkers', { query: {} })).items).toEqual([])
  })
})
