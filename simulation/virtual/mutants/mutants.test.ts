import { describe, expect, it } from 'vitest'
import { PATHS } from '../crashes/worker-crash-paths.ts'
import { callsOf } from '../crashes/worker-crash-run.ts'
import { runZombie } from '../crashes/zombie-controller.ts'
import type { Defects } from '../world/world.ts'
import { brokenLabMutants } from './broken-lab-mutants.ts'
import { calendarMutants } from './calendar-mutants.ts'
import { failureWithout, hunt } from './hunt.ts'
import { MUTANTS } from './mutants.ts'
import { promiseMutants } from './promise-mutants.ts'

/** Mutants found in less than a second each. `npm run sim -- --mutants` hunts all of them. */
const QUICK = [
  'no client token',
  'forget the launch attempt',
  'lost launch treated as unsent',
  'terminate before the license is returned',
  'desired state overwritten by a report',
  'secrets in events',
  'reservations not counted',
  'lab imported twice',
  'lab left after its session',
  'step skipped as done',
  'compare-and-set ignored',
  'idle time since creation',
  'license leak not stored',
  'trust one NotFound',
  'failed listing treated as empty',
  'delay without backoff',
  'debounce drops the last event',
  'illegal transition accepted',
  'drain forgets sessions',
  'reservation ends with its start',
  'lab start not recorded',
  'restart blamed on a user',
  'endpoint tag trusted',
  'fleet password for a discovered machine',
  'launch token alone is proof',
  'old key removed too early',
  'approval ignored',
  'pin renewed on any certificate',
  'bookings in progress not counted',
  'double license',
  'seat freed before the license is returned',
  ...[...promiseMutants, ...brokenLabMutants, ...calendarMutants].map(({ name }) => name),
]
/** Some of the mutants whose acts contain faults that the correct code must survive. `npm run sim -- --mutants` runs all. */
const FAULTY_STORIES = [
  'no client token',
  'lost launch treated as unsent',
  'refused login treated as timeout',
  'denials compared by text',
  'old key removed too early',
  'reboot inside the guest not noticed',
  'shutdown taken for a reboot',
  'silence taken for a loss',
  'session moved back and forth',
]
/** Long after the last act. `npm run sim -- --mutants` runs each plan to its end. */
const UNTIL_MS = 75 * 60_000
const named = (names: readonly string[]) => MUTANTS.filter(({ name }) => names.includes(name))

describe('a mutant', () => {
  it('has a unique name', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
    expect(MUTANTS.length).toBeGreaterThanOrEqual(25)
    expect(MUTANTS.map(({ name }) => name)).toEqual(expect.arrayContaining(QUICK))
  })

  it.each(named(QUICK))('is found: $name', async mutant => {
    const { failure } = await hunt(mutant, () => false)
    expect(failure?.rule).toMatch(mutant.caughtBy)
  })

  it.each(named(FAULTY_STORIES))('fails because of its defect, not its acts: $name', async mutant => {
    expect(await failureWithout(mutant, 1, { untilMs: UNTIL_MS })).toBeNull()
  })

  it.each(named(['debounce drops the last event']))(
    'fails because of its defect, not the missing polls: $name',
    async mutant => {
      const { settings = {} } = mutant.defects()
      expect(await failureWithout(mutant, 1, { untilMs: UNTIL_MS, defects: { settings } })).toBeNull()
    },
  )
})

describe('a controller that ignores the loss of its lease', () => {
  const SEED = 3
  const election: Defects['election'] = election => ({
    ...election,
    async campaign(signal) {
      const leadership = await election.campaign(signal)
      return leadership && { ...leadership, isHeld: () => true }
    },
  })

  const path = PATHS.find(({ name }) => name === 'register and deregister')
  if (path === undefined) throw new Error('unknown path')
  const calledAt = async () => (await callsOf(path, SEED)).indexOf('api.GET secrets')

  it('is found by its changes after it was frozen', async () => {
    const defects = { ...path, options: { ...path.options, defects: { election } } }
    await expect(runZombie(defects, SEED, await calledAt())).rejects.toThrow(/^zombie: register/m)
  })

  it('does not exist in the product', async () => {
    expect(await runZombie(path, SEED, await calledAt())).toEqual({ mutations: [], writes: [] })
  })
})
