import { asView, aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { liveState } from './live-state.ts'
import { resourceLinkOf } from './resource-link.ts'

it('has the name of the resource and its page', () => {
  const { live } = liveState()
  live.worker.put(asView(aWorker({ id: 'w-1', name: 'metal-1' })))
  expect(resourceLinkOf('worker:w-1', live)).toEqual({ kind: 'worker', name: 'metal-1', href: '#/workers/w-1' })
  expect(resourceLinkOf('service:worker-controller', live).href).toBe('#/controllers')
  expect(resourceLinkOf('token:tk-1', live).href).toBe('#/settings')
  expect(resourceLinkOf('person:token:tk-1', live)).toMatchObject({
    name: 'token:tk-1',
    href: '#/people?q=token%3Atk-1',
  })
})

it('shows the id of a deleted resource, and no link without a page', () => {
  const { live } = liveState()
  expect(resourceLinkOf('worker:w-9', live)).toMatchObject({ name: 'w-9', href: '#/workers/w-9' })
  expect(resourceLinkOf('lab_record:lr-1', live)).toEqual({ kind: 'lab', name: 'lr-1', href: '#/labs?q=lr-1' })
  expect(resourceLinkOf('fleet_scaling:fleet', live)).toEqual({ kind: 'fleet scaling', name: 'fleet', href: null })
  expect(resourceLinkOf('odd', live)).toEqual({ kind: '', name: 'odd', href: null })
})
