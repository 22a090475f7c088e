import { aDefinition, aServingWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { reason } from '../reason.ts'
import { CONDITION, type Worker } from '../worker/worker.ts'
import type { Plan } from './plan.ts'
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
/** By machine: the sessions on it. */
const placesOf = ({ machines }: Plan) =>
  Object.fromEntries(
    machines.filter(({ session_ids }) => session_ids.length > 0).map(({ key, session_ids }) => [key, session_ids]),
  )
const unplacedIn = ({ unplaced }: Plan) => unplaced.map(({ session_id, because }) => [session_id, because])

describe('which machine serves a session', () => {
  it('is one that runs rather than one that sleeps or would be bought', () => {
    const workers = [serving('w-1'), sleeping('w-2')]
    expect(placesOf(planned({ workers, sessions: [booked('s-1', 4, [10, 60])] }))).toEqual({ 'w-1': ['s-1'] })
  })

  it('is one that is about to stop rather than one that would be bought', () => {
    const { pause } = sleeping('w-1')
    const workers = [serving('w-1', { desired_status: 'STOPPED', pause })]
    const sessions = [booked('s-1', 4, [120, 180])]
    const previous = planned({ workers: [serving('w-1')], sessions })
    const { machines } = planned({ workers, sessions, previous })
    // It stops for five minutes, and takes twenty to start.
    expect(machines[0]?.steps.map(step => [step.kind, step.at])).toEqual([
      ['wake', at(95)],
      ['stop', at(182)],
    ])
  })

  it('is one that can be woken again rather than one that the plan before would buy', () => {
    const sessions = [booked('s-1', 4, [120, 180])]
    const previous = planned({ sessions })
    expect(Object.keys(placesOf(previous))).toEqual(['buy:metal:s-1'])
    expect(placesOf(planned({ workers: [sleeping('w-1')], sessions, previous }))).toEqual({ 'w-1': ['s-1'] })
  })

  it('is one that sleeps rather than one that would be bought', () => {
    const workers = [sleeping('w-2')]
    expect(placesOf(planned({ workers, sessions: [booked('s-1', 4, [60, 120])] }))).toEqual({ 'w-2': ['s-1'] })
  })

  it('is the one on which it adds the least machine time, so that ends align', () => {
    const sessions = [
      running(booked('long', 4, [-60, 180]), 'w-1'),
      running(booked('short', 6, [-60, 60]), 'w-2'),
      booked('s-1', 2, [10, 60]),
      booked('s-2', 2, [10, 180]),
    ]
    const workers = [
      holding(serving('w-1'), booked('long', 4, [-60, 180])),
      holding(serving('w-2'), booked('short', 6, [-60, 60])),
    ]
    const plan = planned({ workers, sessions })
    expect(placesOf(plan)['w-1']).toContain('s-2')
  })

  it('is the same one after another where the capacity is free in time', () => {
    const first = booked('first', 10, [-60, 50])
    const sessions = [running(first, 'w-1'), booked('next', 10, [60, 120])]
    const plan = planned({ workers: [holding(serving('w-1'), first), sleeping('w-2')], sessions })
    expect(placesOf(plan)).toEqual({ 'w-1': ['next'] })
  })

  it('is another one where the lab before is removed too late', () => {
    const first = booked('first', 10, [-60, 54])
    const sessions = [running(first, 'w-1'), booked('next', 10, [60, 120])]
    const plan = planned({ workers: [holding(serving('w-1'), first), sleeping('w-2')], sessions })
    expect(placesOf(plan)).toEqual({ 'w-2': ['next'] })
  })

  it('is none of those that placement refuses', () => {
    const definition = aDefinition({ boot_lead_minutes: 5, license_affinity: ['CML_Enterprise'] })
    const workers = [
      serving('w-1', { cordoned: true }),
      serving('w-2', { drain: aDrain }),
      serving('w-3', { desired_status: 'STOPPED' }),
      sleeping('w-4', { pause: aServingWorker().pause }),
      serving('w-5'),
      serving('w-6', { license: { ...aServingWorker().license, product: 'CML_Enterprise', status: 'REGISTERED' } }),
    ]
    const input = anInput({
      workers,
      sessions: [booked('s-1', 4, [10, 60])],
      definitions: new Map([['ld-1', definition]]),
    })
    expect(placesOf(planFleet(input))).toEqual({ 'w-6': ['s-1'] })
    expect(unplacedIn(planFleet({ ...input, workers: workers.slice(0, 4), templates: [] }))).toEqual([
      ['s-1', expect.objectContaining({ code: 'lab_fits_nowhere' })],
    ])
  })
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  const aDrain: Worker['drain'] = { requested_at: at(-1), by: 'ann', reason: '', then: 'STOPPED', deadline: at(60) }

  it('is the one that was started for it, until that one is late', () => {
    const sessions = [booked('s-1', 4, [20, 60])]
    const workers = [serving('w-1'), arriving('w-2', 5, { wanted_by: ['s-1'] })]
    expect(placesOf(planned({ workers, sessions }))).toEqual({ 'w-2': ['s-1'] })
    const late = [serving('w-1'), arriving('w-2', 25, { wanted_by: ['s-1'] })]
    expect(placesOf(planned({ workers: late, sessions: [booked('s-1', 4, [5, 60])] }))).toEqual({ 'w-1': ['s-1'] })
    const refused = [serving('w-1'), arriving('w-2', 1, { wanted_by: ['s-1'], conditions: [BLOCKED] })]
    expect(placesOf(planned({ workers: refused, sessions }))).toEqual({ 'w-1': ['s-1'] })
  })

  it('is still the one that EC2 refuses to start where EC2 refuses several: another start would be refused too', () => {
    const refusedFor = (id: string, session: string) => arriving(id, 1, { wanted_by: [session], conditions: [BLOCKED] })
    const sessions = ['s-1', 's-2', 's-3'].map(id => booked(id, 10, [26, 90]))
    const workers = [refusedFor('w-1', 's-1'), refusedFor('w-2', 's-2'), sleeping('w-8'), sleeping('w-9')]
    const two = planned({ workers, sessions: sessions.slice(0, 2) })
    expect(Object.keys(placesOf(two))).toEqual(['w-8', 'w-9'])
    const three = planned({ workers: [...workers, refusedFor('w-3', 's-3')], sessions })
    expect(Object.keys(placesOf(three))).toEqual(['w-1', 'w-2', 'w-3'])
    expect(three.machines.flatMap(({ steps }) => steps)).toEqual([])
  })
  const BLOCKED = { type: CONDITION.blocked, status: true, reason: reason('not_given'), since: at(-1) }

  it('stays as in the plan before unless another plan costs clearly less', () => {
    const workers = [serving('w-1'), serving('w-2'), sleeping('w-3')]
    const twoFrom = (start: number) => ['s-1', 's-2'].map(id => booked(id, 4, [start, start + 40]))
    const on = (key: string): Plan => {
      const plan = planned({ workers: [serving(key)], sessions: twoFrom(20) })
      expect(placesOf(plan)).toEqual({ [key]: ['s-1', 's-2'] })
      return plan
    }
    expect(placesOf(planned({ workers, sessions: twoFrom(20) }))).toEqual({ 'w-1': ['s-1', 's-2'] })
    expect(placesOf(planned({ workers, sessions: twoFrom(20), previous: on('w-2') }))).toEqual({
      'w-2': ['s-1', 's-2'],
    })
    expect(placesOf(planned({ workers, sessions: twoFrom(90), previous: on('w-2') }))).toEqual({
      'w-2': ['s-1', 's-2'],
    })
    const long = booked('long', 2, [-60, 180])
    const busy = {
      workers: [holding(serving('w-1'), long), sleeping('w-3')],
      sessions: [running(long, 'w-1'), ...twoFrom(90)],
    }
    expect(placesOf(planned({ ...busy, previous: on('w-3') }))).toEqual({ 'w-1': ['s-1', 's-2'] })
  })

  it('is the one that is ready first for a session that no machine serves in time', () => {
    const sessions = [booked('walk-in', 4, [0, 60])]
    const workers = [sleeping('w-1'), arriving('w-2', 8)]
    const plan = planned({ workers, sessions })
    expect(placesOf(plan)).toEqual({ 'w-2': ['walk-in'] })
    expect(plan.machines.find(({ key }) => key === 'w-2')?.late_starts).toEqual({ 'walk-in': at(12) })
  })

  it('counts a lab that should be gone for as long as a removal takes', () => {
    const late = booked('late', 10, [-60, -10])
    const sessions = [running(late, 'w-1'), booked('s-1', 10, [7, 60]), booked('s-2', 10, [6, 60])]
    const plan = (id: string) =>
      planned({ workers: [holding(serving('w-1'), late)], sessions: sessions.filter(each => each.id !== id) })
    expect(placesOf(plan('s-2'))).toEqual({ 'w-1': ['s-1'] })
    expect(placesOf(plan('s-1'))['w-1']).toBeUndefined()
  })

  it('is never one with capacity that is held for an unknown time', () => {
    const held = quarantining(serving('w-1'), booked('quarantined', 10, [-60, -10]))
    const plan = planned({ workers: [held, sleeping('w-2')], sessions: [booked('s-1', 1, [600, 660])] })
    expect(placesOf(plan)).toEqual({ 'w-2': ['s-1'] })
  })
})

describe('sessions without a machine', () => {
  const two = [booked('s-1', 10, [60, 120]), booked('s-2', 10, [60, 120])]

  it('say that the limit of the region is reached', () => {
    const settings = { ...anInput().settings, max_workers_per_region: 1 }
    expect(unplacedIn(planned({ sessions: two, settings }))).toEqual([
      ['s-2', reason('region_worker_limit', { region: 'us-east-1', limit: 1 })],
    ])
  })

  it('say that machines are not bought', () => {
    const settings = { ...anInput().settings, scale_up_enabled: false }
    const plan = planned({ sessions: two, settings, workers: [sleeping('w-1')] })
    expect(unplacedIn(plan)).toEqual([['s-2', reason('scale_up_disabled')]])
  })

  it('are not those of a machine that has its seat and was stopped before it registered', () => {
    const license = { ...aServingWorker().license, product: 'CML_Enterprise', status: 'UNKNOWN', seat: 'held' } as const
    const [workers, licenses] = [[sleeping('w-1', { license })], new Map([['CML_Enterprise', 0]])]
    const sessions = [booked('s-1', 4, [60, 120])]
    expect(placesOf(planned({ workers, sessions, licenses, templates: [] }))).toEqual({ 'w-1': ['s-1'] })
  })

  it('say that no license is free', () => {
    const templates = [{ ...METAL, license_product: 'CML_Enterprise' }]
    const plan = planned({ sessions: two, templates, licenses: new Map([['CML_Enterprise', 1]]) })
    expect(unplacedIn(plan)).toEqual([['s-2', reason('plan_no_license_free', { license: 'CML_Enterprise' })]])
  })

  it('leaves the budgets of its input as they are', () => {
    const budgets = [{ fromMs: NOW, untilMs: NOW + 24 * 60 * MINUTE, leftUsd: 10 }]
    const input = { sessions: two, budgets }
    expect(planned(input)).toEqual(planned(input))
    expect(budgets).toEqual([{ fromMs: NOW, untilMs: NOW + 24 * 60 * MINUTE, leftUsd: 10 }])
  })

  it('say that the budget is reached', () => {
    const budgets = [{ fromMs: NOW, untilMs: NOW + 24 * 60 * MINUTE, leftUsd: 10 }] as const
    const plan = planned({ sessions: two, budgets })
    expect(unplacedIn(plan)).toEqual([['s-2', reason('plan_budget_reached')]])
    const running = planned({
      sessions: two,
      budgets: [{ ...budgets[0], leftUsd: 0 }],
      workers: [serving('w-1'), serving('w-2')],
    })
    expect(unplacedIn(running)).toEqual([])
  })

  it('say that no machine is ready before their slot ends', () => {
    expect(unplacedIn(planned({ sessions: [booked('s-1', 4, [0, 15])] }))).toEqual([
      ['s-1', reason('plan_no_capacity')],
    ])
  })

  it('say that their lab is too large, or their definition was deleted', () => {
    expect(unplacedIn(planned({ sessions: [booked('s-1', 11, [60, 120])] }))).toMatchObject([
      ['s-1', { code: 'lab_fits_nowhere' }],
    ])
    expect(unplacedIn(planned({ sessions: two, definitions: new Map() }))).toMatchObject([
      ['s-1', { code: 'definition_deleted' }],
      ['s-2', { code: 'definition_deleted' }],
    ])
  })

  it('are those whose capacity is not promised', () => {
    const settings = { ...anInput().settings, max_workers_per_region: 1 }
    const early = booked('s-0', 10, [50, 110])
    const plan = planned({ sessions: [early, booked('s-1', 10, [60, 120])], settings, bestEffort: new Set(['s-0']) })
    expect(unplacedIn(plan)).toMatchObject([['s-0', { code: 'region_worker_limit' }]])
  })

  it('are as few as another order leaves', () => {
    // By start, a session of 4 cores takes the machine in the first hour, and both of 7 are left without.
    const settings = { ...anInput().settings, max_workers_per_region: 2 }
    const sessions = [
      booked('a', 4, [60, 180], { created_at: at(-90) }),
      booked('b', 4, [60, 180], { created_at: at(-90) }),
      booked('c', 4, [60, 180], { created_at: at(-90) }),
      booked('d', 6, [61, 120], { created_at: at(-100) }),
      booked('e', 2, [61, 120], { created_at: at(-100) }),
    ]
    expect(unplacedIn(planned({ sessions, settings }))).toEqual([])
  })
})
