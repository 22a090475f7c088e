import { describe, expect, it } from 'vitest'
import { crashRun, undisturbed } from '../crash-runs.ts'
import { PATHS } from '../paths.ts'
import type { Spoilt } from '../world.ts'
import { haunted } from '../zombie.ts'
import { hunt } from './hunt.ts'
import { MUTANTS } from './mutants.ts'

/** Found in less than a second each. `npm run sim -- --mutants` hunts all of them. */
const QUICK = [
  'no client token',
  'forget the launch attempt',
  'terminate before the licence is given back',
  'desired overwritten by a report',
  'secrets in events',
  'ledger not counted',
  'lab imported twice',
  'session over, lab left',
  'skip as done',
  'compare-and-set ignored',
  'idle since it was made',
  'leak told and not kept',
]

describe('a defect on purpose', () => {
  it('has a name of its own, and there are enough of them', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
    expect(MUTANTS.length).toBeGreaterThanOrEqual(25)
    expect(MUTANTS.map(({ name }) => name)).toEqual(expect.arrayContaining(QUICK))
  })

  it.each(MUTANTS.filter(({ name }) => QUICK.includes(name)))('is found: $name', { timeout: 60_000 }, async mutant => {
    const { failure } = await hunt(mutant, () => false)
    expect(failure?.rule).toMatch(mutant.caughtBy)
  })
})

describe('a controller that goes on as if it still led', () => {
  const SEED = 3
  const election: Spoilt['election'] = election => ({
    ...election,
    async campaign(signal) {
      const leadership = await election.campaign(signal)
      return leadership && { ...leadership, isHeld: () => true }
    },
  })

  it('is found by what it does after it slept', async () => {
    const path = PATHS.find(({ name }) => name === 'register and deregister')
    if (path === undefined) throw new Error('there is no such path')
    const spoilt = { ...path, options: { ...path.options, spoilt: { election } } }
    const call = (await undisturbed(spoilt, SEED)).indexOf('api.GET secrets')
    await expect(haunted(spoilt, SEED, call)).rejects.toThrow(/^zombie: register/m)
  })

  it('is none of ours', async () => {
    const [path] = PATHS
    if (path === undefined) throw new Error('there is no path')
    await crashRun(path, SEED, { call: 10, when: 'after', heir: 'standby' })
  })
})
