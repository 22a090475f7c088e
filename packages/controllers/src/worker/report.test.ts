import { reason, textReason } from '@lcm/domain/reason'
import { withBoot } from '@lcm/domain/worker/boot-stages'
import { announce, type Decision, nothing, perform } from '@lcm/domain/worker/decision/decision'
import type { Worker, WorkerChanges } from '@lcm/domain/worker/worker'
import { NO_LICENSE } from '@lcm/domain/worker/worker-field-schemas'
import { silentMeter } from '@lcm/runtime'
import { type AControlPlane, aControlPlane } from '@lcm/testkit/a-control-plane'
import { anObservation } from '@lcm/testkit/observation-builders'
import { anAttempt, aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { announceAttempt, noteOf, type ReportParts, report, workerCounters } from './report.ts'
import { aReconcile, resignations } from './testing/reconcile-context-fixture.ts'

let plane: AControlPlane
let counting: ReturnType<typeof workerCounters>
let resigned: ReturnType<typeof resignations>
let parts: ReportParts

const REQUESTED = reason('requested_by', { by: 'admin', status: 'STOPPED', reason: '' })
const WHY = nothing(textReason('because it is so'))
const onMachine = (more: Partial<Worker> = {}) => aWorker({ ec2_instance_id: 'i-1', ...more })

async function write(worker: Worker, changes: WorkerChanges, decision: Decision = WHY, afterMs: number | null = null) {
  await plane.put('workers', worker)
  return report(parts, worker, { changes, afterMs, decision }, aReconcile())
}

beforeEach(async () => {
  plane = aControlPlane()
  await plane.registerTerm('worker-controller', 3)
  counting = workerCounters(silentMeter)
  resigned = resignations()
  parts = { client: plane.client('worker-controller'), election: resigned.election, counters: counting }
})

describe('a report', () => {
  it('is one write, based on the read version, in the current term, with the decision and its inputs', async () => {
    const decision = {
      ...announce({}, REQUESTED),
      guards: [{ name: 'n', value: 1, limit: 2, passed: true }],
    }
    const result = await write(onMachine({ version: 4, status: 'RUNNING' }), { status: 'STOPPING' }, decision, 0)
    expect(result).toEqual({ status: 'REQUEUE', message: `RUNNING -> STOPPING: ${REQUESTED.message}`, afterMs: 0 })
    expect(plane.requests).toMatchObject([
      {
        route: 'reportWorkerStatus',
        id: 'w-1',
        ifMatch: 4,
        epoch: 3,
        body: {
          changes: { status: 'STOPPING' },
          decision: {
            action: 'write',
            because: REQUESTED,
            cause: 'poll',
            seen: { version: 4, status: 'RUNNING', ec2: 'running', cml: null, license: null },
            guards: [{ name: 'n', value: 1, limit: 2, passed: true }],
            duration_ms: 12,
          },
        },
      },
    ])
  })

  it('succeeds without a requeue when nothing is due', async () => {
    expect(await write(onMachine(), { service_status: 'AVAILABLE' })).toEqual({
      status: 'SUCCESS',
      message: 'because it is so',
    })
  })

  it('of a termination is requeued once, so that the worker is dropped', async () => {
    const result = await write(onMachine({ status: 'TERMINATING' }), { status: 'TERMINATED' })
    expect(result).toMatchObject({ status: 'REQUEUE', afterMs: 0 })
  })

  it('that lost the race to another writer is requeued at once and counts nothing', async () => {
    plane.fail({ route: 'reportWorkerStatus', effect: 'version_mismatch', times: 1 })
    expect(await write(onMachine(), { status: 'STOPPED' })).toMatchObject({ status: 'REQUEUE', afterMs: 0 })
    expect([counting.snapshot(0).stopped_count, resigned.count()]).toEqual([0, 0])
  })

  it.each(['stale_leader', 'term_not_registered'] as const)('that is refused as %s ends the term', async code => {
    plane.fail({ route: 'reportWorkerStatus', effect: code, times: 1 })
    await expect(write(onMachine(), { status: 'STOPPED' })).rejects.toThrow(code)
    expect([resigned.count(), counting.snapshot(0).stopped_count]).toEqual([1, 0])
  })

  it('that is refused otherwise is a failure, and the term continues', async () => {
    plane.fail({ route: 'reportWorkerStatus', effect: 'illegal_transition', times: 1 })
    await expect(write(onMachine(), { status: 'PENDING' })).rejects.toThrow('illegal_transition')
    expect(resigned.count()).toBe(0)
  })
})

describe('an attempt', () => {
  const attempt = anAttempt({ state: 'open' })
  const open = async () => {
    await plane.put('workers', aWorker())
    return announceAttempt(parts, aWorker(), { attempt, decision: WHY }, aReconcile())
  }

  it('is stored with compare-and-set before EC2 is called, and the next reconcile launches it', async () => {
    expect(await open()).toMatchObject({ status: 'REQUEUE', afterMs: 0 })
    expect(plane.requests).toMatchObject([{ route: 'openLaunchAttempt', ifMatch: 1, epoch: 3, body: { attempt } }])
  })

  it('that lost the race is requeued, and that of an older leader ends the term', async () => {
    plane.fail({ route: 'openLaunchAttempt', effect: 'version_mismatch', times: 1 })
    expect(await open()).toMatchObject({ status: 'REQUEUE', message: 'superseded by another write' })
    plane.fail({ route: 'openLaunchAttempt', effect: 'stale_leader', times: 1 })
    await expect(open()).rejects.toThrow('stale_leader')
    expect(resigned.count()).toBe(1)
  })
})

describe('the counters', () => {
  const boot = (reached: number) => withBoot([], reached, 0)
  const leak = (changes: WorkerChanges) => perform({ kind: 'record_leak', changes }, textReason('its license leaked'))
  const counted = () => Object.entries(counting.snapshot(0)).flatMap(([name, count]) => (count > 0 ? [name] : []))
  const holding = { ...NO_LICENSE, status: 'REGISTERED' } as const

  it.each<[string, Worker, WorkerChanges, readonly string[]]>([
    [
      'a launch that was accepted',
      aWorker(),
      { status: 'PROVISIONING', ec2_instance_id: 'i-1' },
      ['provisioned_count'],
    ],
    [
      'a machine first seen running',
      onMachine({ status: 'PROVISIONING' }),
      { status: 'STARTING', conditions: boot(1) },
      ['started_count'],
    ],
    ['a boot that goes on', onMachine({ status: 'STARTING', conditions: boot(1) }), { conditions: boot(3) }, []],
    ['a machine that stopped', onMachine({ status: 'STOPPING' }), { status: 'STOPPED' }, ['stopped_count']],
    ['a stop before anything was launched', aWorker({ status: 'STOPPING' }), { status: 'STOPPED' }, []],
    ['a stop that is only announced', onMachine({ status: 'RUNNING' }), { status: 'STOPPING' }, []],
    ['a machine that is gone', onMachine({ status: 'TERMINATING' }), { status: 'TERMINATED' }, ['terminated_count']],
    ['an end before anything was launched', aWorker(), { status: 'TERMINATED' }, []],
    ['an unchanged status', onMachine({ status: 'STOPPED' }), { status: 'STOPPED', service_status: 'UNAVAILABLE' }, []],
    ['a registration', onMachine(), { license: { status: 'REGISTERED' } }, ['license_registered_count']],
    ['a registration that began', onMachine(), { license: { status: 'REGISTERING' } }, []],
    [
      'a license that was returned',
      onMachine({ license: holding }),
      { license: { status: 'UNREGISTERED' } },
      ['license_deregistered_count'],
    ],
  ])('%s', async (_, worker, changes, expected) => {
    await write(worker, changes)
    expect(counted()).toEqual(expected)
  })

  it('a leaked license does not count as returned', async () => {
    const changes: WorkerChanges = { license: { status: 'UNREGISTERED' } }
    await write(onMachine({ license: holding }), changes, leak(changes))
    expect(counted()).toEqual([])
  })
})

describe('a note of a decision', () => {
  it('is short enough for the journal', () => {
    const seen = anObservation({ ec2: { kind: 'unknown', because: textReason('no answer'), sinceMs: null } })
    const context = aReconcile({ seen, cause: 'c'.repeat(500) })
    const long = noteOf(aWorker(), nothing(textReason('b'.repeat(5_000))), context, 'o'.repeat(5_000))
    expect([long.because.message.length, long.outcome.length, long.cause.length]).toEqual([1_000, 1_000, 200])
    expect(long.seen).toMatchObject({ ec2: 'unknown' })
  })
})
