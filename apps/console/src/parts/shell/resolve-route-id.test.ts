import { aDefinition, aSession, asView, aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { liveState } from '../../state/live-state.ts'
import { resolveRouteIds } from './resolve-route-id.ts'

const workerView = (...more: Parameters<typeof aWorker>) => asView(aWorker(...more))

it('resolves a worker name to its id and prefers existing workers to terminated ones', () => {
  const { live } = liveState()
  live.worker.put(workerView({ id: 'w-1', name: 'metal-1', status: 'TERMINATED' }))
  expect(resolveRouteIds('worker', 'metal-1', live)).toEqual(['w-1'])
  live.worker.put(workerView({ id: 'w-2', name: 'metal-1', status: 'RUNNING' }))
  expect(resolveRouteIds('worker', 'metal-1', live)).toEqual(['w-2'])
  expect(resolveRouteIds('worker', 'w-1', live)).toEqual(['w-1'])
  live.worker.put(workerView({ id: 'w-3', name: 'metal-1', status: 'STOPPED' }))
  expect(resolveRouteIds('worker', 'metal-1', live)).toEqual(['w-2', 'w-3'])
  expect(resolveRouteIds('worker', 'unknown', live)).toEqual([])
})

it('resolves a definition name to the version that would be booked', () => {
  const { live } = liveState()
  live.definition.put(aDefinition({ id: 'ld-1', name: 'campus', definition_version: '1.0.0' }))
  live.definition.put(aDefinition({ id: 'ld-2', name: 'campus', definition_version: '2.0.0' }))
  live.definition.put(aDefinition({ id: 'ld-3', name: 'campus', definition_version: '3.0.0', status: 'DEPRECATED' }))
  expect(resolveRouteIds('definition', 'campus', live)).toEqual(['ld-2'])
})

it('resolves a definition name to its sessions that are not over', () => {
  const { live } = liveState()
  const { definition } = aSession()
  live.session.put(aSession({ id: 'ls-1', status: 'RUNNING' }))
  live.session.put(aSession({ id: 'ls-2', status: 'ARCHIVED' }))
  expect(resolveRouteIds('session', definition.name, live)).toEqual(['ls-1'])
})
