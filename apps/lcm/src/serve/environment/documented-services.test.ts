import { CHANGE_KEYS } from '@lcm/contract/resource-kinds'
import { LABLET_CONTROLLER_DEFAULTS } from '@lcm/controllers/lablet/config'
import { RESOURCE_SCHEDULER_DEFAULTS } from '@lcm/controllers/scheduler/config'
import { WORKER_CONTROLLER_DEFAULTS } from '@lcm/controllers/worker/config'
import { labelsOfImport } from '@lcm/domain/fleet/discovery'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { WATCH_DEFAULTS } from '@lcm/runtime'
import { anInstance } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { SERVED } from '../one-service.ts'

it('every service has the port of the documents', () => {
  expect(SERVED).toEqual({
    'control-plane-api': 8080,
    'resource-scheduler': 8081,
    'lablet-controller': 8082,
    'worker-controller': 8083,
  })
})

it('the watched prefixes are those of the documents, under one root', () => {
  expect(CHANGE_KEYS.workers).toBe('/lcm/workers/')
  expect(CHANGE_KEYS.sessions).toBe('/lcm/sessions/')
})

it('loops have the intervals of the documents', () => {
  expect(WORKER_CONTROLLER_DEFAULTS).toMatchObject({ reconcileIntervalMs: 30_000, maxConcurrent: 5 })
  expect(RESOURCE_SCHEDULER_DEFAULTS).toMatchObject({ reconcileIntervalMs: 30_000, cleanupIntervalMs: 3_600_000 })
  expect(LABLET_CONTROLLER_DEFAULTS).toMatchObject({ reconcileIntervalMs: 30_000, labScanIntervalMs: 1_800_000 })
})

it('new leaders sweep everything after 2 s, as startup_reconcile_enabled says', () => {
  expect(WATCH_DEFAULTS).toMatchObject({ startupReconcileEnabled: true, startupReconcileDelayMs: 2_000 })
})

it('machines with the documented tags are discovered and labeled', () => {
  expect(WORKER_POLICY.discoveryTag).toEqual({ key: 'cml-managed', value: 'true' })
  const tags = { 'cml-managed': 'true', 'cml-environment': 'production', 'cml-region': 'us-east-1' }
  expect(labelsOfImport(anInstance({ tags }))).toEqual({ environment: 'production', logical_region: 'us-east-1' })
})
