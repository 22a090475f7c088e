import { describe, expect, it } from 'vitest'
import { toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import type { Plan, PlannedStep } from './plan.ts'
import { planFleet } from './plan-fleet.ts'
import type { PlanInput } from './plan-input.ts'
import {
  anInput,
  arriving,
  at,
  booked,
  holding,
  METAL,
  MINUTE,
  NOW,
  quarantining,
  running,
  serving,
  sleeping,
} from './testing/plan-fixtures.ts'

const planned = (more: Partial<PlanInput>) => planFleet(anInput(more))
const stepsOf = ({ machines }: Plan, key = 'w-1'): PlannedStep[] =>
  machines.find(machine => machine.key === key)?.steps ?? []
const briefly = (steps: readonly PlannedStep[]) =>
  steps.map(step => [step.kind, (toMs(step.at) - NOW) / MINUTE, step.usd])
const UNUSED = reason('plan_stop_unused', { until: at(48 * 60) })

describe('the steps of a machine', () => {
  it('wake it by the measured boot before its first use, and stop it after the last one', () => {
    const plan = planned({ workers: [sleeping('w-1')], sessions: [booked('s-1', 4, [60, 120])] })
    expect(stepsOf(plan)).toEqual([
      {
        kind: 'wake',
        at: at(35),
        because: reason('plan_wake', { sessions: 1, first_use: at(55), minutes: 20 }),
        usd: 8.7,
        session_ids: ['s-1'],
      },
      { kind: 'stop', at: at(122), because: UNUSED, usd: 0, session_ids: [] },
    ])
    expect(plan.usd).toBe(8.7)
  })

  it('wake it now if its first use is sooner', () => {
    const plan = planned({ workers: [sleeping('w-1')], sessions: [booked('s-1', 4, [0, 60])] })
    expect(briefly(stepsOf(plan))).toEqual([
      ['wake', 0, 6.2],
      ['stop', 62, 0],
    ])
  })

  it('stop it at once if nothing is planned on it', () => {
    expect(stepsOf(planned({ workers: [serving('w-1')] }))).toEqual([
      { kind: 'stop', at: at(0), because: UNUSED, usd: 0, session_ids: [] },
    ])
    expect(stepsOf(planned({ workers: [sleeping('w-1')] }))).toEqual([])
  })

  it('let it sleep until its next use where that costs less than to stay', () => {
    const plan = planned({ workers: [serving('w-1')], sessions: [booked('s-1', 4, [125, 180])] })
    expect(stepsOf(plan)).toMatchObject([
      {
        kind: 'stop',
        at: at(0),
        because: reason('plan_stop', { next_use: at(120), staying_usd: 12, sleeping_usd: 2 }),
        usd: 0,
      },
      { kind: 'wake', at: at(100) },
      { kind: 'stop', at: at(182) },
    ])
  })

  it('let it stay where a stop and a start take longer than the pause', () => {
    const plan = planned({ workers: [serving('w-1')], sessions: [booked('s-1', 4, [29, 60])] })
    expect(stepsOf(plan)).toMatchObject([
      { kind: 'stay', at: at(0), because: reason('plan_stay_short', { next_use: at(24), minutes: 25 }), usd: 6.2 },
      { kind: 'stop', at: at(62) },
    ])
  })

  it('buy it by the measured first boot, for the sessions that it must be started for', () => {
    const sessions = [booked('s-1', 4, [60, 120]), booked('s-2', 4, [60, 120]), booked('s-3', 8, [122, 180])]
    const plan = planned({ sessions })
    const bought = plan.machines.find(({ session_ids }) => session_ids.includes('s-1'))
    expect(bought?.key).toBe('buy:metal:s-1')
    expect(bought?.worker_id).toBeNull()
    const params = { sessions: 2, first_use: at(55), minutes: 25, template: 'metal', license: null, nodes: 5 }
    expect(bought?.steps[0]).toMatchObject({
      kind: 'buy',
      at: at(30),
      because: reason('plan_buy', { ...params, nodes_possible: 100 }),
      session_ids: ['s-1', 's-2'],
    })
  })

  it('say that a license allows fewer nodes than the machine could run', () => {
    const templates = [{ ...METAL, license_product: 'CML_Enterprise' }]
    const needs = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, node_count: 10 }
    const plan = planned({ templates, sessions: [booked('s-1', 1, [60, 120], { needs })] })
    expect(plan.machines[0]?.steps[0]?.because.params).toMatchObject({ license: 'CML_Enterprise', nodes: 20 })
  })

  it('are none for a machine that may not be stopped, or whose capacity is held', () => {
    const workers = [
      serving('w-1', { protected: true }),
      serving('w-2', { idle_detection_enabled: false }),
      quarantining(serving('w-4'), booked('quarantined', 1, [-60, -10])),
    ]
    const plan = planned({ workers })
    expect(plan.machines.flatMap(({ steps }) => steps)).toEqual([])
  })

  it('keep a machine that a person started on until the time of that person, and for its next use', () => {
    const workers = [serving('w-1', { desired_until: at(60) })]
    expect(briefly(stepsOf(planned({ workers })))).toEqual([['stop', 60, 0]])
    expect(briefly(stepsOf(planned({ workers, sessions: [booked('s-1', 4, [70, 130])] })))).toEqual([
      ['stay', 60, 7.2],
      ['stop', 132, 0],
    ])
  })

  it('keep a machine on until the sessions on it are over', () => {
    const session = booked('s-1', 4, [-30, 30])
    const plan = planned({ workers: [holding(serving('w-1'), session)], sessions: [running(session, 'w-1')] })
    expect(briefly(stepsOf(plan))).toEqual([['stop', 32, 0]])
  })

  it('stop a machine that people used by hand when its idle timeout is over', () => {
    const stop = (keptMinutes: number) =>
      briefly(
        stepsOf(planned({ workers: [serving('w-1')], keptUntil: new Map([['w-1', NOW + keptMinutes * 60_000]]) })),
      )
    expect([stop(45), stop(-5), stop(Number.POSITIVE_INFINITY)]).toEqual([[['stop', 45, 0]], [['stop', 0, 0]], []])
  })

  it('stop a machine that arrives and is not needed any more', () => {
    expect(briefly(stepsOf(planned({ workers: [arriving('w-1', 5, { wanted_by: ['gone'] })] })))).toEqual([
      ['stop', 0, 0],
    ])
  })

  it('terminate one that sleeps without any use, if the setting allows it and its disk costs more than a new machine', () => {
    const settings = { ...anInput().settings, terminate_sleeping: true }
    const unlicensed = { license: { ...sleeping('w').license, product: null, status: 'UNREGISTERED' as const } }
    const disk = { gb: 200, usd_per_hour: 0.02 }
    const stopped = sleeping('w-1', { ...unlicensed, disk })
    const because = reason('plan_terminate', { until: at(48 * 60), disk_usd: 0.96, new_usd: 0.3 })
    expect(stepsOf(planned({ workers: [stopped], settings }))).toEqual([
      { kind: 'terminate', at: at(0), because, usd: 0, session_ids: [] },
    ])
    const kept = [
      { ...stopped, origin: 'USER' as const },
      { ...stopped, protected: true },
      { ...stopped, ...sleeping('w-1'), disk },
      { ...stopped, disk: { gb: 10, usd_per_hour: 0.001 } },
      { ...stopped, status: 'STOPPING' as const },
    ]
    for (const worker of kept) expect(stepsOf(planned({ workers: [worker], settings }))).toEqual([])
    expect(stepsOf(planned({ workers: [stopped] }))).toEqual([])
    expect(stepsOf(planned({ workers: [stopped], settings, foreignLabs: new Set(['w-1']) }))).toEqual([])
    const session = booked('s-1', 1, [600, 660], {})
    expect(stepsOf(planned({ workers: [stopped], settings, sessions: [session] })).map(({ kind }) => kind)).toEqual([
      'wake',
      'stop',
    ])
  })
})

describe('purchases', () => {
  const small = { ...METAL, name: 'small', cost_per_hour_usd: 2.5, capacity: { ...METAL.capacity, cpu_cores: 4 } }
  const boughtIn = ({ machines }: Plan) => machines.map(({ template_name }) => template_name)

  it('are those of the template by which the whole plan costs least', () => {
    const templates = [METAL, small]
    expect(boughtIn(planned({ templates, sessions: [booked('s-1', 4, [60, 120])] }))).toEqual(['small'])
    const many = [1, 2, 3, 4, 5].map(n => booked(`s-${n}`, 2, [60, 120]))
    expect(boughtIn(planned({ templates, sessions: many }))).toEqual(['metal'])
  })

  it('are of a template that has a license left', () => {
    const licensed = { ...small, license_product: 'CML_Enterprise' }
    const plan = planned({
      templates: [METAL, licensed],
      sessions: [booked('s-1', 4, [60, 120])],
      licenses: new Map([['CML_Enterprise', 0]]),
    })
    expect(boughtIn(plan)).toEqual(['metal'])
  })
})
