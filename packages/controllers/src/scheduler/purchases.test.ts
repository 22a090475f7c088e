import { UnreachableError } from '@lcm/client/api-error'
import { NEVER_PAUSED } from '@lcm/domain/worker/parts'
import type { Worker } from '@lcm/domain/worker/worker'
import { beforeEach, describe, expect, it } from 'vitest'
import { aDefinition, aServingWorker, aSession, atMinutes } from './testing/a-booking.ts'
import { type SchedulerRig, schedulerRig } from './testing/scheduler-rig.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const LONG = { start: atMinutes(0), end: atMinutes(600) }

let rig: SchedulerRig

beforeEach(() => {
  rig = schedulerRig()
})

const bought = () => [...rig.api.workers.values()].filter(({ origin }) => origin === 'SCALE_UP')
const change = (worker: Worker, more: Partial<Worker>) => rig.putWorker({ ...worker, ...more })
const sessions = (count: number) => Array.from({ length: count }, (_, n) => aSession({ id: `s-${n}`, timeslot: LONG }))
const aSleeper = (more: Partial<Worker> = {}) =>
  aServingWorker({
    status: 'STOPPED',
    desired_status: 'STOPPED',
    service_status: 'UNAVAILABLE',
    pause: { ...NEVER_PAUSED, reason: 'idle' },
    ...more,
  })

describe('sessions without room', () => {
  it('are packed, and their workers bought in one flight', async () => {
    const scheduler = rig.begin()
    rig.put(...sessions(6))
    await rig.runFor(5 * SECOND_MS)
    expect(bought()).toHaveLength(2)
    expect(rig.api.callsOf('scaleUp')).toMatchObject([{ body: { count: 2, template_name: 'metal' }, epoch: 1 }])
    expect(scheduler.stats()).toMatchObject({ scale_up_requested_count: 1 })
  })

  it('buy nothing more over a hundred cycles while their worker boots, and have their places then', async () => {
    rig.api.definitions.set(
      'ld-1',
      aDefinition({ license_affinity: ['CML_Enterprise'], cml_version: { min: '2.9', max: null } }),
    )
    rig.begin()
    rig.put(...sessions(4))
    const stages: Partial<Worker>[] = [
      { status: 'PROVISIONING' },
      { status: 'STARTING' },
      { status: 'RUNNING', service_status: 'STARTING' },
      { service_status: 'AVAILABLE', cml: { ...aServingWorker().cml } },
    ]
    await rig.runFor(MINUTE_MS)
    for (const stage of stages) {
      const written = rig.api.writes().length
      for (const worker of bought()) change(worker, stage)
      await rig.runFor(25 * 30 * SECOND_MS)
      expect(rig.api.writes().length - written).toBeLessThanOrEqual(4)
    }
    expect(bought()).toHaveLength(1)
    expect(rig.session('s-0')).toMatchObject({ status: 'PENDING' })
    for (const worker of bought()) change(worker, { license: aServingWorker().license })
    await rig.runFor(5 * SECOND_MS)
    expect([...rig.api.sessions.values()].map(({ status }) => status)).toEqual(Array(4).fill('SCHEDULED'))
    expect(rig.api.callsOf('scaleUp')).toHaveLength(1)
  })

  it('are bought for once when the answer is lost', async () => {
    rig.begin()
    let isFirst = true
    rig.api.faults.afterWrite(({ name }) => {
      if (name === 'scaleUp' && isFirst) {
        isFirst = false
        throw new UnreachableError('no answer came')
      }
    })
    rig.put(...sessions(4))
    await rig.runFor(10 * MINUTE_MS)
    expect(bought()).toHaveLength(1)
  })

  it('are bought for again when what was bought has failed, and not before the cooldown is over', async () => {
    rig.begin()
    rig.put(...sessions(4))
    await rig.runFor(MINUTE_MS)
    for (const worker of bought()) change(worker, { status: 'FAILED' })
    await rig.runFor(3 * MINUTE_MS)
    expect(bought()).toHaveLength(1)
    expect(rig.session('s-0').waiting_reason).toMatch(/a metal is asked for, and refused: the next may begin in \d+ s/)
    await rig.runFor(2 * MINUTE_MS)
    expect(bought()).toHaveLength(2)
    await rig.runFor(30 * MINUTE_MS)
    expect(bought()).toHaveLength(2)
  })

  it('are told of a refusal once, though its seconds run', async () => {
    rig.begin()
    rig.put(...sessions(1))
    await rig.runFor(MINUTE_MS)
    for (const worker of bought()) change(worker, { status: 'FAILED' })
    await rig.runFor(SECOND_MS)
    rig.api.received.length = 0
    await rig.runFor(3 * MINUTE_MS)
    expect(rig.api.callsOf('scaleUp').length).toBeGreaterThan(4)
    expect(rig.api.callsOf('reportSession')).toEqual([])
  })

  it('are bought for by no cycle in which something failed', async () => {
    rig.putWorker(aServingWorker())
    rig.api.faults.refuse('assignSession', 500, 'internal_error')
    const order: string[] = []
    rig.api.faults.beforeAnswer(({ name }) => void order.push(name))
    rig.begin()
    rig.put(...sessions(8))
    await rig.runFor(10 * SECOND_MS)
    const cycles = order.filter(name => name === 'listSessions' || name === 'scaleUp')
    expect(cycles.slice(0, 2)).toEqual(['listSessions', 'listSessions'])
    expect(cycles).toContain('scaleUp')
    expect(bought()).toHaveLength(1)
  })
})

describe('a worker that a policy stopped', () => {
  it('is started before anything is bought, and asked for once', async () => {
    rig.putWorker(aSleeper())
    const scheduler = rig.begin()
    rig.put(...sessions(2))
    await rig.runFor(9 * MINUTE_MS)
    expect(rig.worker().desired_status).toBe('RUNNING')
    expect(rig.session('s-0').waiting_reason).toContain('metal-1')
    expect([rig.api.callsOf('resumeWorker').length, rig.api.callsOf('scaleUp').length]).toEqual([1, 0])
    expect(scheduler.stats()).toMatchObject({ resumed_count: 1 })
  })

  it('and that a person holds is not counted on, nor asked for again until it changes', async () => {
    rig.putWorker(aSleeper({ desired_by: 'a person' }))
    rig.begin()
    rig.put(...sessions(2))
    await rig.runFor(10 * MINUTE_MS)
    expect(rig.api.callsOf('resumeWorker')).toHaveLength(1)
    expect(bought()).toHaveLength(1)
    for (const worker of bought()) change(worker, { status: 'FAILED' })
    change(rig.worker(), { desired_by: 'idle' })
    await rig.runFor(MINUTE_MS)
    expect(rig.worker().desired_status).toBe('RUNNING')
  })
})
