import { expect, it } from 'vitest'
import {
  generatedInstanceId,
  LEADER_ELECTION_DEFAULTS,
  RECONCILIATION_DEFAULTS,
  WATCH_DEFAULTS,
} from './default-config.ts'

it('keeps the defaults of the specification', () => {
  expect(RECONCILIATION_DEFAULTS).toMatchObject({ intervalMs: 30_000, initialDelayMs: 5_000, pollingEnabled: true })
  expect(RECONCILIATION_DEFAULTS).toMatchObject({ maxConcurrent: 10, metricPrefix: 'reconciliation' })
  expect(RECONCILIATION_DEFAULTS).toMatchObject({ backoffBaseMs: 1_000, backoffMultiplier: 2, backoffMaxMs: 60_000 })
  expect(LEADER_ELECTION_DEFAULTS).toMatchObject({ etcdEndpoints: ['localhost:2379'], electionKeyPrefix: '/lcm' })
  expect(LEADER_ELECTION_DEFAULTS).toMatchObject({ leaseTtlMs: 15_000, retryIntervalMs: 5_000 })
  expect(WATCH_DEFAULTS).toMatchObject({ enabled: true, debounceMs: 500, maxReconnectAttempts: 10 })
  expect(WATCH_DEFAULTS).toMatchObject({ reconnectDelayMs: 1_000, reconnectDelayMaxMs: 10_000 })
  expect(WATCH_DEFAULTS).toMatchObject({ startupReconcileEnabled: true, startupReconcileDelayMs: 2_000 })
})

it('makes an instance id of the host and eight random hex digits', () => {
  expect(generatedInstanceId('node-7', () => 0.5)).toBe('node-7-80000000')
  expect(generatedInstanceId('node-7', () => 0)).toBe('node-7-00000000')
})
