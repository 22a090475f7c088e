import { describe, expect, it } from 'vitest'
import { planOf } from '../acts/plan.ts'
import { at } from '../mutants/mutant.ts'
import { MUTANTS } from '../mutants/mutants.ts'
import { SimulationFailure } from '../world/time-control.ts'
import { failureOf, kindOf, shrink } from './shrink.ts'

describe('a failing run', () => {
  it('is shrunk to the acts that cause it, which fail again', async () => {
    const mutant = MUTANTS.find(({ name }) => name === 'reservations not counted')
    if (mutant === undefined) throw new Error('unknown mutant')
    // The act that causes it, among unrelated ones.
    const noise = planOf(5, { workers: 3, hours: 0.2, pace: 'brisk' }).acts.filter(
      ({ act }) => !/^book|create/.test(act),
    )
    const acts = [...(mutant.acts ?? []), ...noise.slice(0, 8)].sort((a, b) => a.atMs - b.atMs)
    const plan = { seed: 1, size: { workers: 3, hours: 1, pace: 'brisk' }, acts } as const
    const failure = await failureOf(plan, { defects: mutant.defects() })
    expect(failure?.rule).toMatch(mutant.caughtBy)
    if (failure === null) return
    const short = await shrink(plan, failure, { defects: mutant.defects(), mayGoOn: () => true })
    expect(short.plan.acts.map(({ act }) => act)).toEqual(['book'])
    const again = await failureOf(JSON.parse(JSON.stringify(short.plan)), { defects: mutant.defects() })
    expect(again && kindOf(again)).toBe(kindOf(failure))
  })

  it('is not shrunk when there is no time', async () => {
    const plan = {
      seed: 1,
      size: { workers: 1, hours: 1, pace: 'brisk' },
      acts: [at(0, 'create'), at(9, 'stop')],
    } as const
    const failure = new SimulationFailure('a rule', 60_000, 'a rule')
    const short = await shrink(plan, failure, { mayGoOn: () => false })
    expect(short).toMatchObject({ runs: 0, plan: { acts: [at(0, 'create')] } })
  })

  it('has the same kind for other names and ids', () => {
    const kind = (rule: string) => kindOf(new SimulationFailure(rule, 0, rule))
    expect(kind('w12 has 3 live machines: i-0f7987f2563990006 (running)')).toBe(
      kind('w4415 has 2 live machines: i-00565976f559396c4 (running)'),
    )
    expect(kind('metal-c9yt is paused')).toBe(kind('w0 is paused'))
    expect(kind('ls-5gce7cz4h30d8 does not end')).not.toBe(kind('w1 is paused so soon after it came to run'))
  })
})
