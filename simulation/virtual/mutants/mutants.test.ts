import { describe, expect, it } from 'vitest'
import { callsOf } from '../crashes/crash-run.ts'
import { PATHS } from '../crashes/worker-paths.ts'
import { runZombie } from '../crashes/zombie.ts'
import type { Defects } from '../world/world.ts'
import { failureWithout, hunt } from './hunt.ts'
import { MUTANTS } from './mutants.ts'

/** Found in less than a second each. `npm run sim -- --mutants` hunts all of them. */
const QUICK = [
  'no client token',
  'forget the launch attempt',
  'lost launch taken for unsent',
  'terminate before the license is given back',
  'desired overwritten by a report',
  'secrets in events',
  'ledger not counted',
  'lab imported twice',
  'session over, lab left',
  'skip as done',
  'compare-and-set ignored',
  'idle since it was made',
  'leak told and not kept',
  'trust one NotFound',
  'no answer is an empty answer',
  'delay without backoff',
  'debounce that drops',
  'illegal move taken',
  'drain forgets sessions',
  'restart of a machine not noticed',
  'restart blamed on a person',
  'endpoint tag believed',
  'password of the fleet for a found machine',
  'launch token alone is proof',
]
/** Mutants whose story contains faults that the correct code must survive. */
const FAULTY_STORIES = [
  'no client token',
  'lost launch taken for unsent',
  'trust one NotFound',
  'no answer is an empty answer',
  'restart of a machine not noticed',
  'a refusal counts as silence',
  'endpoint tag believed',
  'launch token alone is proof',
  'refused termination not told',
  'delay without backoff',
]
/** Long after everything that is told by these stories. `npm run sim -- --mutants` tells each to its end. */
const UNTIL_MS = 75 * 60_000
const named = (names: readonly string[]) => MUTANTS.filter(({ name }) => names.includes(name))

describe('a defect on purpose', () => {
  it('has a name of its own, and there are enough of them', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
    expect(MUTANTS.length).toBeGreaterThanOrEqual(25)
    expect(MUTANTS.map(({ name }) => name)).toEqual(expect.arrayContaining(QUICK))
  })

  it.each(named(QUICK))('is found: $name', async mutant => {
    const { failure } = await hunt(mutant, () => false)
    expect(failure?.rule).toMatch(mutant.caughtBy)
  })

  it.each(named(FAULTY_STORIES))('is not its story: $name', async mutant => {
    expect(await failureWithout(mutant, 1, { untilMs: UNTIL_MS })).toBeNull()
  })

  it.each(named(['debounce that drops']))('is not that nobody polls: $name', async mutant => {
    const { settings = {} } = mutant.defects()
    expect(await failureWithout(mutant, 1, { untilMs: UNTIL_MS, defects: { settings } })).toBeNull()
  })
})

describe('a controller that goes on as if it still led', () => {
  const SEED = 3
  const election: Defects['election'] = election => ({
    ...election,
    async campaign(signal) {
      const leadership = await election.campaign(signal)
      return leadership && { ...leadership, isHeld: () => true }
    },
  })

  const path = PATHS.find(({ name }) => name === 'register and deregister')
  if (path === undefined) throw new Error('there is no such path')
  const calledAt = async () => (await callsOf(path, SEED)).indexOf('api.GET secrets')

  it('is found by what it does after it slept', async () => {
    const defects = { ...path, options: { ...path.options, defects: { election } } }
    await expect(runZombie(defects, SEED, await calledAt())).rejects.toThrow(/^zombie: register/m)
  })

  it('is none of ours', async () => {
    expect(await runZombie(path, SEED, await calledAt())).toEqual({ mutations: [], writes: [] })
  })
})
