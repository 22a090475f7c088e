import { toInstant } from '@lcm/domain/instant'
import { withBoot } from '@lcm/domain/worker/boot-stages'
import { WORKER_STATUSES, type Worker, withCondition } from '@lcm/domain/worker/worker'
import picocolors from 'picocolors'
import { describe, expect, it } from 'vitest'
import { tableLines } from '../terminal/table.ts'
import { aLaunch, aRunningWorker, aWorker, START_MS } from '../testing/resource-builders.ts'
import { addressOf, stageOf, statusOf, waitsFor, workerColumns } from './worker-view.ts'

const plain = picocolors.createColors(false)
const booting = (reached: number): Worker =>
  aWorker({ status: 'STARTING', service_status: 'STARTING', conditions: withBoot([], reached, START_MS) })
const withObstacle = (worker: Worker, type: string): Worker => ({
  ...worker,
  conditions: withCondition(
    [],
    { type, status: true, reason: { code: 'timeout', message: `${type} it is`, params: {} } },
    START_MS,
  ),
})

it('shows a fleet as a table', () => {
  const workers = [
    aRunningWorker(),
    { ...booting(2), id: 'w-2', name: 'metal-2' },
    aRunningWorker({ id: 'w-3', name: 'metal-3', desired_status: 'STOPPED' }),
  ]
  expect(tableLines(workerColumns(START_MS + 252_000, plain), workers)).toEqual([
    'NAME      ID                STATUS                HEALTH   STAGE                REGION      TYPE         ADDRESS       AGE',
    'metal-1   w-0abcdefgh0001   RUNNING               OK       -                    us-east-1   m5zn.metal   203.0.113.7   4m12s',
    'metal-2   w-2               STARTING -> RUNNING   OK       TlsEstablished 3/6   us-east-1   -            -             4m12s',
    'metal-3   w-3               RUNNING -> STOPPED    OK       -                    us-east-1   m5zn.metal   203.0.113.7   4m12s',
  ])
})

it.each(['STOPPED', 'TERMINATED'] as const)('shows no address of a worker that is %s', status => {
  expect(addressOf(aRunningWorker())).toBe('203.0.113.7')
  expect(addressOf(aRunningWorker({ status }))).toBe('')
})

it('colors a status without moving the columns', () => {
  const colors = picocolors.createColors(true)
  const [, row] = tableLines(workerColumns(START_MS, colors), [aRunningWorker()])
  expect(row).toContain('\u001b[32mRUNNING\u001b[39m   \u001b[32mOK\u001b[39m       -')
})

it('shows the desired status only where it differs', () => {
  expect(statusOf(aRunningWorker())).toBe('RUNNING')
  expect(statusOf(aWorker())).toBe('PENDING -> RUNNING')
  const at = toInstant(START_MS)
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  const drain = { requested_at: at, by: 'ann', reason: '', then: 'TERMINATED' as const, deadline: at }
  expect(statusOf(aRunningWorker({ status: 'DRAINING', drain }))).toBe('DRAINING -> TERMINATED')
})

it('shows no desired status for a lost worker', () => {
  expect(statusOf(aRunningWorker({ status: 'TERMINATED' }))).toBe('TERMINATED (lost)')
  expect(statusOf(aRunningWorker({ status: 'TERMINATED', desired_status: 'TERMINATED' }))).toBe('TERMINATED')
})

describe('what a worker waits for', () => {
  it('is a boot stage while it boots', () => {
    expect(waitsFor(booting(1))).toBe('waiting for the CML port to open')
    expect(stageOf(booting(1))).toBe('TcpReachable 2/6')
    expect(waitsFor(booting(6))).toBe('CML is ready; LCM checks a few more times that it stays ready')
    expect(stageOf(booting(6))).toBe('CmlReady 6/6')
  })

  it('is its launch while it is PENDING', () => {
    expect(waitsFor(aWorker())).toBe('waiting for launch')
    expect(waitsFor(aWorker({ launch: aLaunch() }))).toBe('launching (attempt 1): EC2 shows no instance yet')
    const refused = aLaunch({ n: 2, state: 'refused', error: 'no capacity' })
    expect(waitsFor(aWorker({ launch: refused }))).toBe('attempt 2 was refused: no capacity')
    expect(stageOf(aWorker({ launch: refused }))).toBe('attempt 2')
  })

  it('is the condition that blocks it', () => {
    expect(waitsFor(withObstacle(aWorker(), 'LaunchBlocked'))).toBe('LaunchBlocked it is')
    expect(stageOf(withObstacle(aWorker(), 'LaunchBlocked'))).toBe('LaunchBlocked')
    expect(waitsFor(withObstacle(aWorker({ status: 'FAILED' }), 'Failed'))).toBe('Failed it is')
    expect(stageOf(withObstacle(aWorker({ status: 'FAILED' }), 'Failed'))).toBe('timeout')
  })

  it('is nothing in a settled status', () => {
    expect([waitsFor(aRunningWorker()), stageOf(aRunningWorker())]).toEqual(['', ''])
    const found = aRunningWorker({ service_status: 'STARTING', conditions: withBoot([], 4, START_MS) })
    expect(stageOf(found)).toBe('ApiAnswers 5/6')
  })

  it('has a text for every status, except where only the desired status is known', () => {
    const silent = WORKER_STATUSES.filter(status => waitsFor(aRunningWorker({ status })) === '')
    expect(silent).toEqual(['RUNNING', 'DRAINING', 'STOPPED'])
  })
})
