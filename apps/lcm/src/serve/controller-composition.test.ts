import { apiClient } from '@lcm/client/client'
import { answerOf } from '@lcm/controllers/kit/admin-api'
import { promMeter } from '@lcm/controllers/kit/prom-meter'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { type Reconciliation, reconciliation, silentLogger, success } from '@lcm/runtime'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { awaited, compose, healthOfAll } from './controller-composition.ts'

const STANDBY = { isEnding: false, around: null, unheard: null, loop: { running: false, last_sweep: null } }

it.each([
  ['nothing as a standby', {}, null],
  ['its first listing as a new leader', { loop: { running: true, last_sweep: null } }, 'the end of its first listing'],
  ['nothing once it has seen all', { loop: { running: true, last_sweep: '2026-01-01T00:00:00.000Z' } }, null],
  [
    'the API before that',
    { unheard: 'who are you?', loop: { running: true, last_sweep: null } },
    'the API: who are you?',
  ],
  ['etcd before the API', { around: 'etcd', unheard: 'it has not answered yet' }, 'etcd'],
])('a controller waits for %s', (_, differing, expected) => {
  expect(awaited({ ...STANDBY, ...differing })).toBe(expected)
})

it('a controller that was asked to end says only that', () => {
  expect(awaited({ ...STANDBY, isEnding: true, around: 'etcd' })).toContain('asked to end')
})

/** A controller of two loops, which leads nothing. */
function composed(second: (loop: Reconciliation) => Reconciliation, clock = manualClock()) {
  const coordination = localCoordination({ clock, firstEpoch: () => 1 })
  const meter = promMeter()
  const loopNamed = (name: string) =>
    reconciliation({ name, clock, logger: silentLogger, triggers: [], reconcile: async () => success() })
  const parts = {
    client: apiClient(() => Promise.reject(new Error('nobody is there'))),
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
  return compose('lablet-controller', parts, () => ({
    service: { name: 'none', run: async () => undefined },
    loop,
    others: [second(loopNamed('second'))],
    plan: () => [],
    stats: () => ({}),
    health: () => ({}),
  }))
}

it('a controller tells of a degraded watch of any of its loops', () => {
  const degraded = composed(loop => ({ ...loop, health: () => ({ ...loop.health(), status: 'degraded' }) }))
  expect(degraded.face.health()).toMatchObject({
    status: 'degraded',
    problems: ['the watch is degraded; polling goes on'],
  })
  expect(composed(loop => loop).face.health()).toMatchObject({ status: 'healthy', problems: [] })
})

it('a controller whose API has not answered for 30 s is degraded, and alive all the same', async () => {
  const clock = manualClock()
  const { face, reports } = composed(loop => loop, clock)
  const ending = new AbortController()
  const running = reports.map(report => report.run(ending.signal))
  const asked = () => answerOf(face, { method: 'GET', path: '/health' }, async () => null)
  await clock.advance(29_000)
  expect(await asked()).toMatchObject({ status: 200, body: { status: 'healthy', problems: [] } })
  await clock.advance(2_000)
  const problems = [expect.stringMatching(/^the API has not answered since .*: nobody is there$/)]
  expect(await asked()).toMatchObject({ status: 200, body: { status: 'degraded', problems } })
  expect(await answerOf(face, { method: 'GET', path: '/ready' }, async () => null)).toMatchObject({ status: 503 })
  ending.abort()
  await clock.advance(2_000)
  await Promise.all(running)
})

it('one process of all controllers is degraded with any of them, and shows which', () => {
  const well = composed(loop => loop)
  const degraded = composed(loop => ({ ...loop, health: () => ({ ...loop.health(), status: 'degraded' }) }))
  expect(healthOfAll([well, degraded, degraded], [])).toMatchObject({
    status: 'degraded',
    problems: ['the watch is degraded; polling goes on'],
    services: [{ status: 'healthy' }, { status: 'degraded' }, { status: 'degraded' }],
  })
  expect(healthOfAll([well], [])).toMatchObject({ status: 'healthy', problems: [] })
  expect(healthOfAll([well], ['the disk is full'])).toMatchObject({
    status: 'degraded',
    services: [{ status: 'healthy' }],
  })
})
