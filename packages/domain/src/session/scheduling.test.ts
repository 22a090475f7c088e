import { aDefinition, aServingWorker, aSession, aTemplate } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { timingsOf } from '../calendar/timings.ts'
import { withoutReservation, withReservation } from '../calendar/worker-ledger.ts'
import type { LabletDefinition } from '../definition/lablet-definition.ts'
import { SETTING_DEFAULTS } from '../fleet/settings.ts'
import { toInstant, toMs } from '../instant.ts'
import type { LabNeeds } from '../lab/topology.ts'
import { type Reason, reason, textReason } from '../reason.ts'
import { CONDITION, type Worker, workerOfTemplate } from '../worker/worker.ts'
import type { LabletSession } from './lablet-session.ts'
import { schedule as scheduleOf } from './scheduling.ts'
import type { SchedulingInput, SchedulingStep } from './scheduling-types.ts'

const MINUTE = 60_000
const NOW = toMs(aSession().created_at)
const at = (minutes: number) => toInstant(NOW + minutes * MINUTE)
const slot = (start: number, end: number) => ({ timeslot: { start: at(start), end: at(end) } })

const gb = (memory_gb: number): LabNeeds => ({ cpu_cores: 1, memory_gb, storage_gb: 1, node_count: 1 })
const booked = (id: string, memory: number, more: Partial<LabletSession> = {}): LabletSession =>
  aSession({ id, needs: gb(memory), ...slot(0, 60), ...more })
const machine = (id: string, memory_gb: number, more: Partial<Worker> = {}): Worker =>
  aServingWorker({
    id,
    name: id,
    capacity: {
      ...aServingWorker().capacity,
      declared: { cpu_cores: 1000, memory_gb, storage_gb: 1000, max_nodes: 1000 },
    },
    ...more,
  })
const holding = (worker: Worker, ...sessions: LabletSession[]): Worker =>
  sessions.reduce((each, { id, needs, timeslot }) => {
    const until = toInstant(toMs(timeslot.end) + 2 * MINUTE)
    return withReservation(each, id, needs, { since: at(-30), from: at(-30), until })
  }, worker)
const template = (name: string, memory_gb: number, cost_per_hour_usd: number) =>
  aTemplate({ name, cost_per_hour_usd, capacity: { cpu_cores: 1000, memory_gb, storage_gb: 1000, max_nodes: 1000 } })
const METAL = template('metal', 10, 4)

const anInput = (more: Partial<SchedulingInput> = {}, definition: Partial<LabletDefinition> = {}): SchedulingInput => ({
  sessions: [],
  definitions: new Map([['ld-1', aDefinition(definition)]]),
  workers: [],
  templates: [METAL],
  settings: { ...SETTING_DEFAULTS, max_workers_per_region: 1000, boot_lead_minutes: 10 },
  timings: timingsOf([]),
  region: 'us-east-1',
  leaving: new Map(),
  previous: null,
  nowMs: NOW,
  ...more,
})

const schedule = (input: SchedulingInput) => scheduleOf(input).steps
const ofKind = <K extends SchedulingStep['kind']>(steps: readonly SchedulingStep[], kind: K) =>
  steps.filter((step): step is Extract<SchedulingStep, { kind: K }> => step.kind === kind)
const placesOf = (steps: readonly SchedulingStep[]) =>
  ofKind(steps, 'assign').map(({ session, worker_id }) => [session.id, worker_id])
const reasonsOf = (steps: readonly SchedulingStep[]) =>
  ofKind(steps, 'wait').map(({ session, because }) => [session.id, because])
const waitingFor = (worker: string) => reason('waiting_for_worker', { worker })
const boughtBy = (steps: readonly SchedulingStep[]) =>
  ofKind(steps, 'scale_up').map(({ template_name, count, session_ids }) => [template_name, count, ...session_ids])

// Labs start 10 minutes before their slot.
describe('a session that is due', () => {
  const isPlaced = (session: LabletSession, more: Partial<SchedulingInput> = {}) =>
    schedule(anInput({ sessions: [session], workers: [machine('w', 10)], ...more })).length > 0

  it.each<[string, Partial<LabletSession>, boolean]>([
    ['begins now', slot(0, 60), true],
    ['began before', slot(-10, 60), true],
    ['begins when its lab has just started', slot(10, 90), true],
    ['D-6: begins later', slot(11, 90), false],
    ['is placed', { status: 'SCHEDULED', worker_id: 'w' }, false],
    ['is canceled', { desired_status: 'TERMINATED' }, false],
  ])('one that %s', (_, more, expected) => {
    expect(isPlaced(booked('a', 1, more))).toBe(expected)
  })

  it('is placed earlier where operators set a time', () => {
    const settings = { ...SETTING_DEFAULTS, schedule_ahead_minutes: 35 }
    expect([35, 36].map(start => isPlaced(booked('a', 1, slot(start, 90)), { settings }))).toEqual([true, false])
  })

  it('is planned until then, and the cycle comes back in time', () => {
    const asked = anInput({ sessions: [booked('a', 1, slot(20, 90))], workers: [machine('w', 10)] })
    const { later, nextMs, steps } = scheduleOf(asked)
    expect(later).toMatchObject([{ session: { id: 'a' }, because: reason('planned_on', { worker: 'w' }) }])
    expect([later.map(({ atMs }) => atMs), nextMs, steps]).toEqual([[NOW + 10 * MINUTE], NOW + 10 * MINUTE, []])
  })

  it('is ordered by its start, then by its booking, then by its id', () => {
    const sessions = [
      booked('d', 1, slot(5, 60)),
      booked('c', 1, { created_at: at(-1) }),
      booked('b', 1, { created_at: at(-2) }),
      booked('a', 1, { created_at: at(-1) }),
    ]
    expect(placesOf(schedule(anInput({ sessions, workers: [machine('w', 10)] }))).map(([id]) => id)).toEqual([
      ...'bacd',
    ])
  })

  it('expires when its timeslot is over, unless it was canceled', () => {
    const sessions = [booked('a', 1, slot(-60, 0)), booked('b', 1, { ...slot(-60, 0), desired_status: 'TERMINATED' })]
    const steps = schedule(anInput({ sessions, workers: [machine('w', 10)] }))
    expect(steps).toMatchObject([{ kind: 'expire', session: { id: 'a' }, because: { code: 'timeslot_over' } }])
  })

  it('is unschedulable when its definition is gone', () => {
    const steps = schedule(anInput({ sessions: [booked('a', 1)], definitions: new Map() }))
    expect(steps).toMatchObject([{ kind: 'wait', because: { code: 'definition_deleted' }, forGood: true }])
  })
})

describe('placing', () => {
  it('follows the plan and reduces the capacity with each session', () => {
    const sessions = [...'abcde'].map(id => booked(id, 4))
    const workers = [machine('w1', 10), holding(machine('w2', 10), booked('x', 1))]
    const steps = schedule(anInput({ sessions, workers }))
    expect(
      placesOf(steps)
        .map(([, worker]) => worker)
        .toSorted(),
    ).toEqual(['w1', 'w1', 'w2', 'w2'])
    expect(new Set(ofKind(steps, 'assign').map(({ because }) => because.code))).toEqual(new Set(['placed_as_planned']))
    expect(boughtBy(steps)).toEqual([['metal', 1, 'e']])
  })

  it('uses the needs at the booking, not those of the current definition', () => {
    const steps = schedule(anInput({ sessions: [booked('a', 4)], workers: [machine('w', 5)] }, { needs: gb(9) }))
    expect(placesOf(steps)).toEqual([['a', 'w']])
  })

  it('does not assign the same ports twice', () => {
    const port_template = Array.from({ length: 4000 }, (_, n) => ({
      name: `p${n}`,
      node: 'R1',
      protocol: 'serial' as const,
      inside: 0,
    }))
    const sessions = [booked('a', 1), booked('b', 1)]
    const steps = schedule(anInput({ sessions, workers: [machine('w', 10)], templates: [] }, { port_template }))
    expect(placesOf(steps)).toEqual([['a', 'w']])
  })

  it('completes an assignment that only the reservation shows', () => {
    const session = booked('a', 4, { entered_status_at: at(-1) })
    const holder = withReservation(machine('w1', 10), 'a', session.needs, at(0))
    const fuller = holding(machine('w2', 10), booked('x', 5))
    const steps = schedule(anInput({ sessions: [session], workers: [holder, fuller] }))
    const because = { code: 'capacity_already_reserved', params: { worker: 'w1' } }
    expect(steps).toMatchObject([{ kind: 'assign', worker_id: 'w1', because }])
  })

  it('uses another worker while the old one keeps capacity for a leftover lab of the session', () => {
    const session = booked('a', 4, { entered_status_at: at(-1) })
    const left = withReservation(machine('w1', 10), 'a', session.needs, at(-20))
    const steps = schedule(anInput({ sessions: [session], workers: [left, machine('w2', 10)] }))
    expect(placesOf(steps)).toEqual([['a', 'w2']])
    const alone = schedule(anInput({ sessions: [session], workers: [left] }))
    expect(boughtBy(alone)).toEqual([['metal', 1, 'a']])
    expect(reasonsOf(alone)).toMatchObject([
      ['a', { code: 'no_capacity', params: { cause: { code: 'no_other_workers' } } }],
    ])
  })

  it('uses another worker also after several earlier ones', () => {
    const session = booked('a', 4, { entered_status_at: at(-1) })
    const left = ['w1', 'w2'].map(id => withReservation(machine(id, 10), 'a', session.needs, at(-20)))
    for (const workers of [left, left.toReversed()])
      expect(placesOf(schedule(anInput({ sessions: [session], workers: [...workers, machine('w3', 10)] })))).toEqual([
        ['a', 'w3'],
      ])
  })

  it('F-1, D-8: never exceeds the declared capacity of a worker', () => {
    const size = fc.record({
      memory_gb: fc.integer({ min: 1, max: 800 }).map(hundredths => hundredths / 100),
      cpu_cores: fc.integer({ min: 0, max: 5 }),
      storage_gb: fc.integer({ min: 0, max: 30 }),
      node_count: fc.integer({ min: 0, max: 8 }),
    })
    const declared = fc.record({
      memory_gb: fc.integer({ min: 1, max: 3000 }).map(hundredths => hundredths / 100),
      cpu_cores: fc.integer({ min: 1, max: 16 }),
      storage_gb: fc.integer({ min: 1, max: 100 }),
      max_nodes: fc.integer({ min: 1, max: 30 }),
    })
    fc.assert(
      fc.property(fc.array(size, { maxLength: 40 }), fc.array(declared, { maxLength: 6 }), (sizes, capacities) => {
        const sessions = sizes.map((needs, n) => booked(`s${n}`, 1, { needs }))
        const workers = capacities.map((capacity, n) =>
          aServingWorker({ id: `w${n}`, capacity: { ...aServingWorker().capacity, declared: capacity } }),
        )
        const ledger = new Map(workers.map(worker => [worker.id, worker]))
        const steps = schedule(anInput({ sessions, workers }))
        for (const { session, worker_id } of ofKind(steps, 'assign')) {
          const worker = ledger.get(worker_id)
          if (worker !== undefined) ledger.set(worker_id, withReservation(worker, session.id, session.needs, at(0)))
        }
        for (const { capacity } of ledger.values()) {
          expect(capacity.reserved.memory_gb).toBeLessThanOrEqual(capacity.declared?.memory_gb ?? 0)
          expect(capacity.reserved.cpu_cores).toBeLessThanOrEqual(capacity.declared?.cpu_cores ?? 0)
          expect(capacity.reserved.storage_gb).toBeLessThanOrEqual(capacity.declared?.storage_gb ?? 0)
          expect(capacity.reserved.nodes).toBeLessThanOrEqual(capacity.declared?.max_nodes ?? 0)
        }
        // Every session gets exactly one step.
        const decided = [...ofKind(steps, 'assign'), ...ofKind(steps, 'wait')].map(({ session }) => session.id)
        expect(decided.toSorted()).toEqual(sessions.map(({ id }) => id).toSorted())
      }),
    )
  })
})

describe('without capacity', () => {
  const NO_CAPACITY = { type: CONDITION.blocked, status: true, reason: textReason('no capacity'), since: at(-10) }
  const full = holding(machine('full', 10), booked('x', 10, slot(-60, 600)))
  const coming = machine('coming', 10, { status: 'STARTING', service_status: 'UNAVAILABLE' })
  const stoppedWorker = machine('stopped-1', 10, {
    status: 'STOPPED',
    desired_status: 'STOPPED',
    pause: { ...machine('', 1).pause, reason: textReason('idle'), by: 'idle' },
  })

  it('waits first for an arriving worker', () => {
    const steps = schedule(anInput({ sessions: [booked('a', 5)], workers: [full, stoppedWorker, coming] }))
    expect(steps).toMatchObject([{ kind: 'wait', because: waitingFor('coming'), forGood: false }])
    expect(steps).toHaveLength(1)
  })

  it.each<[string, Partial<Worker>]>([
    ['PENDING', { status: 'PENDING' }],
    ['PROVISIONING', { status: 'PROVISIONING' }],
    ['STARTING', { status: 'STARTING' }],
    ['STOPPED and desired RUNNING', { status: 'STOPPED' }],
    ['STOPPING and desired RUNNING', { status: 'STOPPING', entered_status_at: at(-4) }],
    ['UNKNOWN', { status: 'UNKNOWN' }],
    ['RUNNING, with a CML that does not serve yet', { status: 'RUNNING', service_status: 'STARTING' }],
  ])('counts one that is %s as arriving', (_, more) => {
    const workers = [machine('new', 10, { service_status: 'UNAVAILABLE', ...more })]
    expect(reasonsOf(schedule(anInput({ sessions: [booked('a', 5)], workers })))).toEqual([['a', waitingFor('new')]])
  })

  it.each<[string, Partial<Worker>]>([
    ['FAILED', { status: 'FAILED' }],
    ['TERMINATING', { status: 'TERMINATING' }],
    ['desired STOPPED', { status: 'STARTING', desired_status: 'STOPPED' }],
    ['cordoned', { status: 'STARTING', cordoned: true }],
  ])('does not count one that is %s', (_, more) => {
    const workers = [machine('new', 10, { service_status: 'UNAVAILABLE', ...more })]
    expect(boughtBy(schedule(anInput({ sessions: [booked('a', 5)], workers })))).toEqual([['metal', 1, 'a']])
  })

  it('waits for the license of a serving worker rather than buy another that needs one too', () => {
    const license = { ...aServingWorker().license, status: 'FAILED' as const }
    const asked = anInput(
      { sessions: [booked('a', 5)], workers: [machine('new', 10, { license })] },
      { license_affinity: ['CML_Enterprise'] },
    )
    expect(reasonsOf(schedule(asked))).toEqual([
      ['a', reason('waiting_for_license', { worker: 'new', license_status: 'FAILED' })],
    ])
    const leaving = machine('new', 10, {
      license: { ...license, status: 'DEREGISTERING', pending_operation: 'deregister' },
    })
    expect(reasonsOf(schedule({ ...asked, workers: [leaving] }))).toMatchObject([['a', { code: 'no_template_fits' }]])
  })

  it.each<[string, Partial<Worker>]>([
    ['that EC2 has no capacity for', { status: 'PENDING', service_status: 'UNAVAILABLE', conditions: [NO_CAPACITY] }],
    ['whose license was refused', { license: { ...aServingWorker().license, status: 'FAILED' } }],
  ])('resumes a worker that a policy stopped before it waits for one %s', (_, more) => {
    const many = booked('a', 5, { needs: { ...gb(5), node_count: 10 } })
    const steps = schedule(anInput({ sessions: [many], workers: [machine('stuck', 10, more), stoppedWorker] }))
    expect(ofKind(steps, 'resume')).toMatchObject([{ worker_id: 'stopped-1', session_ids: ['a'] }])
    const alone = schedule(anInput({ sessions: [many], workers: [machine('stuck', 10, more)] }))
    expect(reasonsOf(alone)).toMatchObject([['a', { params: { worker: 'stuck' } }]])
  })

  it('counts the capacity that this cycle assigned on a worker that waits for its license', () => {
    const license = { ...aServingWorker().license, status: 'REGISTERING' as const }
    const sessions = [booked('a', 6), booked('b', 6, { needs: { ...gb(6), node_count: 6 } })]
    const steps = schedule(anInput({ sessions, workers: [machine('new', 10, { license })] }))
    expect(placesOf(steps)).toEqual([['a', 'new']])
    expect(reasonsOf(steps)).toMatchObject([
      ['b', { code: 'waiting_for_capacity', params: { worker: 'new', cause: { code: 'no_template_fits' } } }],
    ])
  })

  it('resumes a worker that a policy stopped, once for all sessions that wait for it', () => {
    const steps = schedule(anInput({ sessions: [booked('a', 5), booked('b', 5)], workers: [full, stoppedWorker] }))
    const because = reason('waiting_for_resume', { worker: 'stopped-1' })
    expect(steps).toEqual([
      expect.objectContaining({ kind: 'wait', because }),
      expect.objectContaining({ kind: 'wait', because }),
      {
        ...{ kind: 'resume', worker_id: 'stopped-1', session_ids: ['a', 'b'] },
        because: reason('plan_wake', { sessions: 2, first_use: at(20), minutes: 20 }),
      },
    ])
  })

  it('does not resume a worker that a user stopped', () => {
    const byHand = { ...stoppedWorker, pause: { ...stoppedWorker.pause, reason: null, by: null } }
    const steps = schedule(anInput({ sessions: [booked('a', 5)], workers: [byHand] }))
    expect(ofKind(steps, 'resume')).toEqual([])
    expect(boughtBy(steps)).toEqual([['metal', 1, 'a']])
  })

  it('resumes a worker that a user stopped until a time that has passed', () => {
    const byHand = { ...stoppedWorker, pause: { ...stoppedWorker.pause, reason: null, by: null } }
    const until = (minutes: number) =>
      schedule(anInput({ sessions: [booked('a', 5)], workers: [{ ...byHand, desired_until: at(minutes) }] }))
    expect(boughtBy(until(1))).toEqual([['metal', 1, 'a']])
    expect(ofKind(until(0), 'resume')).toMatchObject([{ worker_id: 'stopped-1', session_ids: ['a'] }])
    expect(boughtBy(until(0))).toEqual([])
  })

  it('buys last, for the remaining sessions', () => {
    const sessions = [...'abcd'].map(id => booked(id, 6))
    const steps = schedule(anInput({ sessions, workers: [full, stoppedWorker, coming] }))
    const requested = { code: 'no_capacity', params: { scale_up: reason('scale_up_requested', { template: 'metal' }) } }
    expect(reasonsOf(steps)).toMatchObject([
      ['a', waitingFor('coming')],
      ['b', reason('waiting_for_resume', { worker: 'stopped-1' })],
      ['c', requested],
      ['d', requested],
    ])
    expect(boughtBy(steps)).toEqual([['metal', 2, 'c', 'd']])
    expect(ofKind(steps, 'scale_up')).toMatchObject([
      { because: { code: 'no_capacity_for_sessions', params: { sessions: 2 } } },
    ])
  })

  it('buys for each hour apart, so that none waits for another', () => {
    const sessions = [booked('a', 10), booked('b', 10, slot(1, 60)), booked('c', 10, slot(30, 90))]
    const hours = new Set(sessions.map(({ timeslot }) => timeslot.start.slice(0, 13)))
    const steps = ofKind(schedule(anInput({ sessions })), 'scale_up')
    expect(steps.map(({ group }) => group)).toEqual([...hours])
    expect(steps.flatMap(({ session_ids }) => session_ids)).toEqual(['a', 'b', 'c'])
    expect(steps.reduce((sum, { count }) => sum + count, 0)).toBe(3)
  })

  describe('with capacity that becomes free in time', () => {
    const running = booked('x', 10, { ...slot(-60, 20), status: 'RUNNING', worker_id: 'full' })
    const next = booked('a', 5, slot(34, 90))
    const workers = [holding(machine('full', 10), running), stoppedWorker]
    const input = anInput({ sessions: [running, next], workers })
    const takeover = (until: number) => reason('planned_takeover', { worker: 'full', sessions: 1, until: at(until) })

    it('takes over from sessions that end, and neither resumes nor buys', () => {
      const { steps, later } = scheduleOf(input)
      expect([steps, later.map(({ because }) => because)]).toEqual([[], [takeover(20)]])
    })

    it('wakes another machine for a session that could not take over in time', () => {
      const late = { ...running, ...slot(-60, 27) }
      const asked = { ...input, sessions: [late, next], workers: [holding(machine('full', 10), late), stoppedWorker] }
      const { steps, nextMs } = scheduleOf(asked)
      expect([steps, nextMs]).toEqual([[], NOW + 4 * MINUTE])
      const due = schedule({ ...asked, nowMs: nextMs })
      expect(ofKind(due, 'resume')).toMatchObject([{ worker_id: 'stopped-1', session_ids: ['a'] }])
    })

    it('waits for a machine that is woken later rather than for sessions that don’t end', () => {
      const settings = { ...SETTING_DEFAULTS, schedule_ahead_minutes: 35, boot_lead_minutes: 10 }
      const held = withReservation(machine('full', 10), 'x', running.needs, at(-30))
      expect(placesOf(schedule({ ...input, settings }))).toEqual([['a', 'full']])
      expect(reasonsOf(schedule({ ...input, settings, workers: [held, stoppedWorker] }))).toEqual([
        ['a', reason('planned_wake', { worker: 'stopped-1', at: at(4), sessions: 1 })],
      ])
    })

    it('moves a session whose predecessor is late to a machine that is woken', () => {
      const overrun = { ...running, ...slot(-60, -1) }
      const steps = schedule({ ...input, sessions: [overrun, { ...next, ...slot(2, 90) }] })
      expect(ofKind(steps, 'resume')).toMatchObject([{ worker_id: 'stopped-1' }])
      expect(reasonsOf(steps)).toEqual([['a', reason('waiting_for_resume', { worker: 'stopped-1' })]])
    })

    it('takes over from one that ended early, however long it was booked for', () => {
      const early = { ...running, ...slot(-60, 600), status: 'STOPPING' as const }
      const soon = { ...next, ...slot(20, 90) }
      const full = withReservation(machine('full', 10), 'x', early.needs, {
        since: at(-30),
        from: at(-30),
        until: at(2),
      })
      const asked = { ...input, sessions: [early, soon], workers: [full, stoppedWorker] }
      expect(scheduleOf(asked).plan.machines).toMatchObject([
        { key: 'full', session_ids: ['a'] },
        { key: 'stopped-1', session_ids: [] },
      ])
    })

    it('promises that capacity once', () => {
      const three = ['a', 'b', 'c'].map(id => ({ ...next, id }))
      const { plan } = scheduleOf({ ...input, sessions: [running, ...three] })
      expect(plan.machines.map(({ key, session_ids }) => [key, session_ids.length])).toEqual([
        ['full', 2],
        ['stopped-1', 1],
      ])
    })

    it('does not count capacity that is held until a scan', () => {
      const held = withReservation(machine('full', 10), 'x', running.needs, at(-30))
      const { plan } = scheduleOf({ ...input, workers: [held, stoppedWorker] })
      expect(plan.machines.find(({ key }) => key === 'stopped-1')?.session_ids).toEqual(['a'])
    })
  })
})

describe('D-7: no purchase storm', () => {
  const SIZES = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 25 })
  const LICENSED = { ...METAL, license_product: 'CML_Enterprise' }
  const input = (sizes: readonly number[]) =>
    anInput(
      { sessions: sizes.map((size, n) => booked(`s${String(n).padStart(2, '0')}`, size)), templates: [LICENSED] },
      { cml_version: { min: '2.9', max: null }, license_affinity: ['CML_Enterprise'] },
    )
  const bought = (steps: readonly SchedulingStep[]) =>
    ofKind(steps, 'scale_up').reduce((sum, { count }) => sum + count, 0)
  const fresh = (count: number) =>
    Array.from({ length: count }, (_, n): Worker => {
      const id = `w${String(n).padStart(2, '0')}`
      return { ...workerOfTemplate(id, LICENSED, at(n - count)), aws_region: 'us-east-1', origin: 'SCALE_UP' }
    })
  const STAGES: readonly Partial<Worker>[] = [
    { status: 'PENDING' },
    { status: 'PROVISIONING' },
    { status: 'STARTING', service_status: 'STARTING' },
    { status: 'RUNNING', service_status: 'STARTING' },
    { status: 'RUNNING', service_status: 'AVAILABLE', cml: aServingWorker().cml },
    {
      status: 'RUNNING',
      service_status: 'AVAILABLE',
      cml: aServingWorker().cml,
      license: { ...aServingWorker().license, status: 'FAILED' },
    },
  ]
  const SERVING: Partial<Worker> = { ...aServingWorker(), id: '', name: '' }

  it('buys no more machines than first-fit packing needs, and never two where one is enough', () => {
    fc.assert(
      fc.property(SIZES, sizes => {
        const bins: number[] = []
        for (const size of sizes) {
          const index = bins.findIndex(used => used + size <= 10)
          if (index < 0) bins.push(size)
          else bins[index] = (bins[index] ?? 0) + size
        }
        expect(bought(schedule(input(sizes)))).toBeLessThanOrEqual(bins.length)
        const total = sizes.reduce((sum, size) => sum + size, 0)
        expect(bins.length).toBeLessThanOrEqual(Math.max(1, Math.ceil((2 * total) / 10)))
      }),
    )
  })

  it('buys nothing more while they arrive, whatever their stage', () => {
    fc.assert(
      fc.property(SIZES, fc.array(fc.constantFrom(...STAGES), { minLength: 25, maxLength: 25 }), (sizes, stages) => {
        const asked = input(sizes)
        const workers = fresh(bought(schedule(asked))).map((worker, n) => ({ ...worker, ...stages[n] }))
        const steps = schedule({ ...asked, workers, nowMs: NOW + 10 * MINUTE })
        expect(bought(steps)).toBe(0)
        expect(ofKind(steps, 'wait')).toHaveLength(sizes.length)
      }),
    )
  })

  it('has capacity for all sessions when the machines arrive one after another', () => {
    fc.assert(
      fc.property(SIZES, sizes => {
        const asked = input(sizes)
        let workers = fresh(bought(schedule(asked)))
        let sessions = asked.sessions
        for (const { id } of workers) {
          workers = workers.map(worker =>
            worker.id === id ? { ...worker, ...SERVING, id, name: id, capacity: worker.capacity } : worker,
          )
          const steps = schedule({ ...asked, sessions, workers })
          expect(bought(steps)).toBe(0)
          for (const { session, worker_id } of ofKind(steps, 'assign')) {
            sessions = sessions.filter(each => each !== session)
            workers = workers.map(worker =>
              worker.id === worker_id ? withReservation(worker, session.id, session.needs, at(0)) : worker,
            )
          }
        }
        expect(sessions).toEqual([])
      }),
    )
  })

  it('keeps machines for large sessions free of small ones that have a cheaper machine arriving', () => {
    const templates = [template('small', 4, 1), METAL]
    const sessions = [booked('a', 3), booked('b', 8), booked('c', 4)]
    const first = schedule(anInput({ sessions, templates }))
    expect(boughtBy(first)).toEqual([
      ['metal', 1, 'b'],
      ['small', 2, 'a', 'c'],
    ])
    const [small, metal] = templates
    if (small === undefined || metal === undefined) throw new Error('there are two')
    const workers = [
      { ...workerOfTemplate('w1', metal, at(0)), license: aServingWorker().license },
      { ...workerOfTemplate('w2', small, at(0)), license: aServingWorker().license },
      { ...workerOfTemplate('w3', small, at(0)), license: aServingWorker().license },
    ]
    expect(boughtBy(schedule(anInput({ sessions, templates, workers })))).toEqual([])
  })
})

describe('buying', () => {
  it('takes the templates that cost least together, and only those that are enabled', () => {
    const templates = [
      template('large', 100, 9),
      template('medium', 50, 5),
      { ...template('tiny', 50, 1), enabled: false },
    ]
    const of = (...sizes: number[]) => sizes.map((size, n) => booked(`s${n}`, size))
    expect(boughtBy(schedule(anInput({ sessions: of(40), templates })))).toEqual([['medium', 1, 's0']])
    expect(boughtBy(schedule(anInput({ sessions: of(40, 60), templates })))).toEqual([['large', 1, 's0', 's1']])
  })

  const noTemplateFits = (cause: Reason) =>
    reason('no_template_fits', { causes: [reason('template_refused', { template: 'metal', cause })] })
  const short = (resource: 'memory_gb' | 'nodes', needed: number, free: number, more: object = {}) =>
    reason('insufficient_capacity', { workers: 1, resource, needed, free, node_limit: null, license: null, ...more })

  it('reports permanently, with numbers, why no template fits', () => {
    const [step] = schedule(anInput({ sessions: [booked('a', 300)] }))
    expect(step).toMatchObject({
      kind: 'wait',
      forGood: true,
      because: noTemplateFits(short('memory_gb', 300, 10)),
    })
  })

  it('reports that no template is enabled', () => {
    const none = schedule(anInput({ sessions: [booked('a', 1)], templates: [] }))
    expect(none).toMatchObject([{ because: { code: 'no_template_enabled' }, forGood: true }])
  })

  it('reports what the workers lack if no template is enabled', () => {
    const old = machine('old', 10, { cml: { ...aServingWorker().cml, version: '2.9.1' } })
    const asked = anInput({ sessions: [booked('a', 1)], templates: [] }, { cml_version: { min: '2.10', max: null } })
    const becauseOf = (workers: Worker[]) => schedule({ ...asked, workers }).map(step => step.because)
    expect(becauseOf([old])).toEqual([
      reason('scale_up_refused', {
        cause: reason('cml_version_too_old', { version: '2.9.1', min: '2.10' }),
        refusal: reason('no_template_enabled'),
      }),
    ])
    const [because] = becauseOf([old, { ...old, id: 'w-2' }])
    expect(because?.message).toBe(
      "2 workers can't take it because of their CML version, for example: needs CML 2.10 or later; the worker has 2.9.1; " +
        'no template is enabled',
    )
  })

  it('is not permanent for a session that would fit on an emptied worker', () => {
    const asked = anInput({ sessions: [booked('a', 8)], templates: [] })
    const full = holding(machine('theirs', 10), booked('x', 10, slot(-60, 600)))
    expect(schedule({ ...asked, workers: [full] })).toMatchObject([
      {
        kind: 'wait',
        because: { code: 'waiting_for_capacity', params: { worker: 'theirs', cause: { code: 'no_template_enabled' } } },
        forGood: false,
      },
    ])
    for (const more of [{ cordoned: true }, { desired_status: 'STOPPED' }, { status: 'TERMINATING' }] as const)
      expect(schedule({ ...asked, workers: [{ ...full, ...more }] })).toMatchObject([{ forGood: true }])
    expect(schedule({ ...asked, sessions: [booked('a', 11)], workers: [full] })).toMatchObject([{ forGood: true }])
  })

  it('D-13: does not buy a machine whose license has too few nodes', () => {
    const needs = { ...gb(1), node_count: 21 }
    const templates = [{ ...METAL, license_product: 'CML_Personal' }]
    expect(schedule(anInput({ sessions: [booked('a', 1, { needs })], templates }))).toMatchObject([
      {
        forGood: true,
        because: noTemplateFits(short('nodes', 21, 20, { node_limit: 20, license: 'CML_Personal' })),
      },
    ])
  })

  it('does not buy a template whose newest worker has the wrong CML', () => {
    const shown = machine('old', 10, { template_name: 'metal', cml: { ...aServingWorker().cml, version: '2.8.1' } })
    const asked = anInput({ sessions: [booked('a', 1)], workers: [shown] }, { cml_version: { min: '2.9', max: null } })
    expect(schedule(asked)).toMatchObject([
      {
        forGood: true,
        because: noTemplateFits(reason('cml_version_too_old', { version: '2.8.1', min: '2.9' })),
      },
    ])
    const changed = [{ ...METAL, updated_at: at(1) }]
    expect(boughtBy(schedule({ ...asked, templates: changed }))).toEqual([['metal', 1, 'a']])
    const newer = machine('new', 1, { template_name: 'metal', created_at: at(1), cml: aServingWorker().cml })
    expect(boughtBy(schedule({ ...asked, workers: [newer, shown], sessions: [booked('a', 5)] }))).toEqual([
      ['metal', 1, 'a'],
    ])
  })

  it('buys no more than the limit of the region, and reports the limit to the other sessions', () => {
    const settings = { ...SETTING_DEFAULTS, max_workers_per_region: 3 }
    const workers = [
      holding(machine('w1', 10), booked('x', 10)),
      machine('gone', 10, { status: 'TERMINATED' }),
      machine('far', 1, { aws_region: 'eu-west-1' }),
    ]
    const sessions = [...'abc'].map(id => booked(id, 10))
    const steps = schedule(anInput({ sessions, workers, settings }))
    expect(boughtBy(steps)).toEqual([['metal', 2, 'a', 'b']])
    expect(reasonsOf(steps)[2]).toMatchObject([
      'c',
      { params: { scale_up: { code: 'region_worker_limit', params: { region: 'us-east-1', limit: 3 } } } },
    ])
  })

  it('buys larger machines where the limit of the region leaves sessions without one, and the cheapest otherwise', () => {
    const templates = [template('small', 10, 1), template('large', 30, 4)]
    const sessions = [...'abcd'].map(id => booked(id, 10))
    const limitedTo = (max_workers_per_region: number) => ({ ...SETTING_DEFAULTS, max_workers_per_region })
    const buys = (most: number) => boughtBy(schedule(anInput({ sessions, templates, settings: limitedTo(most) })))
    expect(buys(4)).toEqual([['small', 4, 'a', 'b', 'c', 'd']])
    expect(buys(2)).toEqual([['large', 2, 'a', 'b', 'c', 'd']])
    expect(buys(1)).toEqual([['large', 1, 'a', 'b', 'c']])
  })

  it('buys nothing while scale-up is off', () => {
    const settings = { ...SETTING_DEFAULTS, scale_up_enabled: false }
    const steps = schedule(anInput({ sessions: [booked('a', 1)], settings }))
    expect(boughtBy(steps)).toEqual([])
    expect(reasonsOf(steps)).toEqual([
      ['a', reason('no_capacity', { cause: reason('no_workers'), scale_up: reason('scale_up_disabled') })],
    ])
  })

  const mainCause = (...workers: Worker[]) => {
    const [first] = ofKind(schedule(anInput({ sessions: [booked('a', 5)], workers })), 'wait')
    return first?.because.params.cause
  }

  it('reports the most frequent refusal: how many workers lack capacity, and the numbers of the best', () => {
    const cordoned = machine('w3', 10, { cordoned: true })
    for (const workers of [
      [machine('w1', 2), machine('w2', 1)],
      [machine('w2', 1), machine('w1', 2)],
    ])
      expect(mainCause(cordoned, ...workers)).toEqual(short('memory_gb', 5, 2, { workers: 2 }))
  })

  it('reports the last of several workers that are refused for another reason', () => {
    const cause = reason('worker_status', { worker: null, status: 'FAILED' })
    const workers = [machine('w1', 10, { cordoned: true }), machine('w2', 10, { status: 'FAILED' })]
    expect(mainCause(machine('w3', 1), ...workers)).toEqual(
      reason('workers_refuse', { workers: 2, category: 'status', cause }),
    )
  })
})

it('a repeated cycle has no steps for sessions that are assigned already', () => {
  const sessions = [booked('a', 4), booked('b', 4)]
  const workers = [machine('w', 10)]
  const places = new Map(
    ofKind(schedule(anInput({ sessions, workers })), 'assign').map(step => [step.session.id, step]),
  )
  const placed = sessions.map(session => ({
    ...session,
    status: 'SCHEDULED' as const,
    worker_id: places.get(session.id)?.worker_id ?? null,
  }))
  expect(schedule(anInput({ sessions: placed, workers: workers.map(worker => holding(worker, ...sessions)) }))).toEqual(
    [],
  )
  expect(withoutReservation(holding(machine('w', 10), ...sessions), 'a').reservations).toHaveProperty('b')
})

const historyOf = (...statuses: LabletSession['status'][]): LabletSession['state_history'] =>
  statuses.map((to, n) => ({ from: statuses[n - 1] ?? null, to, at: at(-30 + n), because: textReason('') }))
const moved = (id: string, more: Partial<LabletSession> = {}) =>
  booked(id, 6, { state_history: historyOf('INSTANTIATING', 'READY', 'RUNNING', 'PENDING'), ...more })
const GONE = reason('worker_status', { worker: 'w-1', status: 'STOPPED' })
const onLostWorker = (id: string, more: Partial<LabletSession> = {}) =>
  booked(id, 6, { status: 'RUNNING', worker_id: 'w-1', ...slot(-10, 60), ...more })
const lost = (...sessions: LabletSession[]) => holding(machine('w-1', 100, { status: 'STOPPED' }), ...sessions)

describe('a session that lost its lab', () => {
  const early = booked('early', 6, slot(-20, 60))

  it('is placed before sessions that began earlier', () => {
    const sessions = [early, moved('moved')]
    expect(placesOf(schedule(anInput({ sessions, workers: [machine('w-2', 10)] })))).toEqual([['moved', 'w-2']])
  })

  it('comes first in capacity waits and purchases too', () => {
    const sessions = [early, moved('moved')]
    const arriving = machine('w-2', 10, { status: 'PROVISIONING', service_status: 'UNAVAILABLE' })
    const steps = schedule(anInput({ sessions, workers: [arriving] }))
    expect(reasonsOf(steps)[0]).toEqual(['moved', waitingFor('w-2')])
    expect(boughtBy(steps)).toEqual([['metal', 1, 'early']])
    const limited = { ...SETTING_DEFAULTS, max_workers_per_region: 1 }
    expect(boughtBy(schedule(anInput({ sessions, settings: limited })))).toEqual([['metal', 1, 'moved']])
  })

  it('does not come first before its timeslot', () => {
    const sessions = [moved('moved', slot(20, 60)), early]
    expect(placesOf(schedule(anInput({ sessions, workers: [machine('w-2', 10)] })))).toEqual([['early', 'w-2']])
  })

  it('comes before one whose machine may come back', () => {
    const stays = onLostWorker('stays', slot(-20, 60))
    const workers = [lost(stays), machine('w-2', 10)]
    const input = anInput({ sessions: [stays, moved('moved')], leaving: new Map([['stays', GONE]]), workers })
    expect(placesOf(schedule(input))).toEqual([['moved', 'w-2']])
  })

  it('buys no machine that would be ready only after its timeslot', () => {
    const late = moved('late', slot(-40, 20))
    expect(schedule(anInput({ sessions: [late] }))).toEqual([
      {
        ...{ kind: 'wait', session: late, forGood: false },
        because: reason('no_capacity', {
          cause: reason('no_workers'),
          scale_up: reason('new_worker_too_late', { minutes: 25 }),
        }),
      },
    ])
    expect(boughtBy(schedule(anInput({ sessions: [late, moved('moved', slot(-40, 26))] })))).toEqual([
      ['metal', 1, 'moved'],
    ])
  })

  it('comes in the order of its start when it has its lab again', () => {
    const again = moved('again', { state_history: historyOf('READY', 'PENDING', 'INSTANTIATING', 'READY') })
    const sessions = [{ ...again, ...slot(-10, 50) }, early]
    expect(placesOf(schedule(anInput({ sessions, workers: [machine('w-2', 10)] })))).toEqual([['early', 'w-2']])
  })
})

describe('a session that leaves its worker for capacity', () => {
  const leaving = new Map([['s', GONE]])

  it('leaves and is placed in one step, before sessions that wait', () => {
    const session = onLostWorker('s')
    const sessions = [booked('early', 6, slot(-20, 60)), session]
    const steps = schedule(anInput({ sessions, leaving, workers: [lost(session), machine('w-2', 10)] }))
    expect(ofKind(steps, 'assign')).toMatchObject([{ session: { id: 's' }, worker_id: 'w-2', leaves: GONE }])
  })

  it('stays, waits for nothing and buys nothing while no worker has capacity', () => {
    const session = onLostWorker('s')
    const booting = machine('w-2', 10, { status: 'PROVISIONING', service_status: 'UNAVAILABLE' })
    expect(schedule(anInput({ sessions: [session], leaving, workers: [lost(session), booting] }))).toEqual([])
  })

  it('stays when its own worker has just come back', () => {
    const session = onLostWorker('s')
    const back = holding(machine('w-1', 100), session)
    expect(schedule(anInput({ sessions: [session], leaving, workers: [back] }))).toEqual([])
  })

  it('stays when its timeslot ends before another lab has booted', () => {
    const leavesAt = (endsIn: number) => {
      const session = onLostWorker('s', slot(-50, endsIn))
      return placesOf(schedule(anInput({ sessions: [session], leaving, workers: [lost(session), machine('w-2', 10)] })))
    }
    expect([leavesAt(10), leavesAt(11)]).toEqual([[], [['s', 'w-2']]])
  })

  it('before its timeslot does not come before sessions whose timeslot has begun', () => {
    const session = onLostWorker('s', { status: 'READY', ...slot(10, 60) })
    const sessions = [session, booked('begun', 6, slot(-5, 60))]
    const steps = schedule(anInput({ sessions, leaving, workers: [lost(session), machine('w-2', 10)] }))
    expect(placesOf(steps)).toEqual([['begun', 'w-2']])
  })
})

describe('a session that a person moved', () => {
  const because = reason('session_moved_by', { by: 'ann', worker: 'w-1', worker_id: 'w-1', reason: '', unsaved: null })
  const session = booked('s', 6, { state_history: [{ from: 'SCHEDULED', to: 'PENDING', at: at(-1), because }] })
  const fuller = holding(machine('w-1', 20), booked('other', 6))

  it('is placed on another worker if one has capacity', () => {
    const sessions = [session]
    expect(placesOf(schedule(anInput({ sessions, workers: [fuller, machine('w-2', 10)] })))).toEqual([['s', 'w-2']])
    expect(placesOf(schedule(anInput({ sessions, workers: [fuller, machine('w-2', 5)] })))).toEqual([['s', 'w-1']])
  })
})
