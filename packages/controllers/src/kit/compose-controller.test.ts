import { apiClient } from '@lcm/client/client'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { textReason } from '@lcm/domain/reason'
import { type Reconciliation, reconciliation, silentLogger, success } from '@lcm/runtime'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { answerAdminRequest } from './admin-api.ts'
import { combinedHealth, composeController, missingForReady } from './compose-controller.ts'
import { promMeter } from './metrics.ts'

const STANDBY = {
  isEnding: false,
  dependency: null,
  heartbeatFailure: null,
  loop: { running: false, last_sweep: null },
}

it.each([
  ['nothing as a standby', {}, null],
  ['the first listing of a new leader', { loop: { running: true, last_sweep: null } }, 'the end of its first listing'],
  ['nothing after its first sweep', { loop: { running: true, last_sweep: '2026-01-01T00:00:00.000Z' } }, null],
  [
    'the API before its first listing',
    { heartbeatFailure: 'invalid token', loop: { running: true, last_sweep: null } },
    'the API: invalid token',
  ],
  ['etcd before the API', { dependency: 'etcd', heartbeatFailure: 'it has not answered yet' }, 'etcd'],
])('/ready waits for %s', (_, differing, expected) => {
  expect(missingForReady({ ...STANDBY, ...differing })).toBe(expected)
})

it('/ready names only the shutdown once the process was asked to end', () => {
  expect(missingForReady({ ...STANDBY, isEnding: true, dependency: 'etcd' })).toContain('asked to end')
})

/** A standby controller with two loops. */
function composed(second: (loop: Reconciliation) => Reconciliation, clock = manualClock()) {
  const coordination = localCoordination({ clock, firstEpoch: () => 1 })
  const meter = promMeter()
  const loopNamed = (name: string) =>
    reconciliation({ name, clock, logger: silentLogger, triggers: [], reconcile: async () => success() })
  const parts = {
    version: '1.2.3',
    client: apiClient(() => Promise.reject(new Error('connection refused'))),
    changeKeys: coordination.changeKeys,
    election: coordination.election('lablet-controller', 'a'),
    logger: silentLogger,
    meter,
    clock,
    ending: new AbortController().signal,
    waitsFor: () => null,
    problems: () => [],
  }
  const loop = loopNamed('first')
  return composeController('lablet-controller', parts, () => ({
    service: { name: 'none', run: async () => undefined },
    loop,
    others: [second(loopNamed('second'))],
    plan: () => [],
    stats: () => ({}),
    health: () => ({}),
  }))
}

it('health reports a degraded watch of any loop', () => {
  const degraded = composed(loop => ({ ...loop, health: () => ({ ...loop.health(), status: 'degraded' }) }))
  expect(degraded.admin.health()).toMatchObject({
    status: 'degraded',
    problems: [{ code: 'watch_degraded' }],
  })
  expect(composed(loop => loop).admin.health()).toMatchObject({ status: 'healthy', problems: [] })
})

it('health is degraded, with status 200, once the API has not answered for 30 s', async () => {
  const clock = manualClock()
  const { admin, reports } = composed(loop => loop, clock)
  const ending = new AbortController()
  const running = reports.map(report => report.run(ending.signal))
  const asked = () => answerAdminRequest(admin, { method: 'GET', path: '/health' }, async () => 'operator')
  await clock.advance(29_000)
  expect(await asked()).toMatchObject({ status: 200, body: { status: 'healthy', problems: [] } })
  await clock.advance(2_000)
  const problems = [{ code: 'dependency_outage', params: { dependency: 'the API', error: 'connection refused' } }]
  expect(await asked()).toMatchObject({ status: 200, body: { status: 'degraded', problems } })
  expect(await answerAdminRequest(admin, { method: 'GET', path: '/ready' }, async () => null)).toMatchObject({
    status: 503,
  })
  ending.abort()
  await clock.advance(2_000)
  await Promise.all(running)
})

it('combined health is degraded with any controller, and names it', () => {
  const well = composed(loop => loop)
  const degraded = composed(loop => ({ ...loop, health: () => ({ ...loop.health(), status: 'degraded' }) }))
  expect(combinedHealth([well, degraded, degraded], [])).toMatchObject({
    status: 'degraded',
    problems: [{ code: 'watch_degraded' }],
    services: [{ status: 'healthy' }, { status: 'degraded' }, { status: 'degraded' }],
  })
  expect(combinedHealth([well], [])).toMatchObject({ status: 'healthy', problems: [] })
  expect(combinedHealth([well], [textReason('the disk is full')])).toMatchObject({
    status: 'degraded',
    services: [{ status: 'healthy' }],
  })
})
