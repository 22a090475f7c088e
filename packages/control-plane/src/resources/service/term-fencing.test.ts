import { textReason } from '@lcm/domain/reason'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { raiseDocumentFence } from './term-fencing.ts'

let plane: ReturnType<typeof aControlPlane>
beforeEach(() => {
  plane = aControlPlane()
})

const TERM = 'services/worker-controller/term'
const register = (epoch: number, instance_id = 'one') =>
  plane.send('PUT', TERM, { as: 'controller', json: { epoch, instance_id } })
const write = (id: string, version: number, epoch: number | string) =>
  plane.send('PATCH', `workers/${id}/status`, {
    as: 'controller',
    headers: { 'if-match': `"${version}"`, 'lcm-epoch': String(epoch) },
    json: { changes: { service_status: 'STARTING' }, decision: { action: 'write', because: textReason('x') } },
  })

describe('the term of a service', () => {
  it('only grows', async () => {
    expect(await register(3)).toMatchObject({ status: 200, json: { epoch: 3, instance_id: 'one' } })
    expect(await register(5, 'two')).toMatchObject({ status: 200, json: { epoch: 5 } })
    const late = await register(4)
    expect(late).toMatchObject({ status: 409, json: { code: 'stale_leader' } })
    expect(late.json.detail).toMatch(/epoch 4 .* two leads by epoch 5.*lcm services reset-term worker-controller/)
  })

  it('can be registered again by the same leader only', async () => {
    await register(3)
    expect(await register(3)).toMatchObject({ status: 200, json: { version: 2 } })
    expect(await register(3, 'two')).toMatchObject({ status: 409, json: { code: 'stale_leader' } })
  })

  it('is separate for each service', async () => {
    const foreign = await plane.send('PUT', 'services/resource-scheduler/term', {
      as: 'controller',
      json: { epoch: 1, instance_id: 'x' },
    })
    expect(foreign).toMatchObject({ status: 403, json: { code: 'forbidden' } })
  })

  it('survives a restart', async () => {
    await register(7)
    expect(await plane.nextEpoch('worker-controller')).toBe(8)
  })
})

describe('a write of a controller', () => {
  it('needs a term, and a registered one', async () => {
    const worker = await plane.create()
    for (const epoch of ['', 'x', '-1', '1.5']) {
      expect(await write(worker.id, 1, epoch), epoch).toMatchObject({
        status: 428,
        json: { code: 'precondition_required' },
      })
    }
    expect(await write(worker.id, 1, 3)).toMatchObject({ status: 409, json: { code: 'term_not_registered' } })
    await register(3)
    expect(await write(worker.id, 1, 3)).toMatchObject({
      status: 200,
      json: { version: 2, fence: { 'worker-controller': 3 } },
    })
    expect(await write(worker.id, 2, 4)).toMatchObject({ status: 409, json: { code: 'term_not_registered' } })
  })

  it('is refused from the moment that a newer term is registered', async () => {
    const worker = await plane.create()
    await register(3)
    await register(4, 'two')
    expect(await write(worker.id, 1, 3)).toMatchObject({ status: 409, json: { code: 'stale_leader' } })
    expect((await plane.send('GET', `workers/${worker.id}`)).json).toEqual(worker)
  })

  it('is refused by a document that a newer leader wrote, even if its check began earlier', async () => {
    const worker = await plane.create()
    await register(3)
    // The check of the old leader has passed; its compare-and-set is pending when the new leader registers and writes.
    const { replace } = plane.store.collection({
      name: 'worker',
      parse: body => body as typeof worker,
      announced: true,
    })
    await replace({ ...worker, version: 2, fence: { 'worker-controller': 4 } })
    expect(await write(worker.id, 2, 3)).toMatchObject({ status: 409, json: { code: 'stale_leader' } })
  })

  it('is accepted without a term from people', async () => {
    const worker = await plane.create()
    await register(3)
    expect((await plane.send('POST', `workers/${worker.id}/stop`)).status).toBe(202)
  })
})

describe('after etcd was rebuilt', () => {
  it('an admin restarts the epochs, and older terms stay refused', async () => {
    const worker = await plane.create()
    await register(1_000)
    await write(worker.id, 1, 1_000)
    expect((await register(2, 'new')).status).toBe(409)
    expect((await plane.send('DELETE', TERM, { as: 'operator' })).status).toBe(403)
    expect((await plane.send('DELETE', TERM)).status).toBe(204)
    expect((await register(2, 'new')).status).toBe(200)
    expect(await write(worker.id, 2, 2)).toMatchObject({ status: 200 })
    expect((await write(worker.id, 3, 1_000)).status).toBe(409)
  })

  it('there is nothing to reset for a service that never led', async () => {
    expect(await plane.send('DELETE', 'services/unknown/term')).toMatchObject({
      status: 404,
      json: { code: 'not_found' },
    })
  })
})

describe('the fence of a document', () => {
  const actor = { id: 'token:wc', name: 'wc', role: 'controller', service: 'worker-controller' } as const
  const raised = (before: Record<string, number>, fence: number) =>
    raiseDocumentFence({ id: 'w-1', fence: before }, { actor, fence })

  it('lets an epoch write that is not older than any before it', () => {
    expect(raised({}, 3)).toEqual({ 'worker-controller': 3 })
    expect(raised({ 'worker-controller': 3 }, 3)).toEqual({ 'worker-controller': 3 })
    expect(raised({ 'worker-controller': 3, other: 9 }, 4)).toEqual({ 'worker-controller': 4, other: 9 })
  })

  it('refuses an older one, whatever other services did', () => {
    expect(() => raised({ 'worker-controller': 3, other: 1 }, 2)).toThrow(
      'a newer leader of worker-controller has written w-1 already',
    )
  })
})
