import { describe, expect, it } from 'vitest'
import { isRead } from '../world/port-calls.ts'
import { PATHS } from './worker-crash-paths.ts'
import { callsOf } from './worker-crash-run.ts'
import { runZombie } from './zombie-controller.ts'

const SEED = 11
const READS_SAMPLED = 200
/** The first three calls of every change, and some reads. */
const isSampled = (names: readonly string[], call: number): boolean =>
  isRead(names[call] ?? '')
    ? call % READS_SAMPLED === 0
    : names.slice(0, call).filter(name => name === names[call]).length < 3

const ZOMBIE_PATHS = PATHS.filter(({ name }) => /^launch|^drain|^register|^terminate with|^discovery|^idle/.test(name))

describe('a controller that was frozen beyond its lease', () => {
  it.each(ZOMBIE_PATHS)('changes nothing in $name', async path => {
    const names = await callsOf(path, SEED)
    const calls = [...names.keys()].filter(call => isSampled(names, call))
    for (const call of calls) {
      expect(await runZombie(path, SEED, call), `frozen after call ${call} ${names[call]}`).toEqual({
        mutations: [],
        writes: [],
      })
    }
  })
})
