import { memorySimStore, SimStoreError } from '@lcm/cloud-sim/store'
import { systemClock } from '@lcm/runtime/clock'
import { expect, it } from 'vitest'
import { openWorld } from './cloud.ts'
import { StartupError } from './startup-error.ts'

it('says in words that a simulated cloud has no room for its world', () => {
  const full = {
    ...memorySimStore(),
    commit() {
      throw new SimStoreError("sim.sqlite can't be written: the disk is full")
    },
  }
  const open = () => openWorld({ clock: systemClock, seed: 1, speed: 60, preset: null, fleet: 1 }, full)
  expect(open).toThrow(StartupError)
  expect(open).toThrow(/disk is full/)
})
