import { reason } from '@lcm/domain/reason'
import { expect, it } from 'vitest'
import { aSession, aWorker } from './test-data-builders.ts'
import { illegalMovesOfSession, illegalMovesOfWorker } from './transition-rules.ts'

const AT = { at: '2026-01-01T00:00:00.000Z', because: reason('not_given') }

it('finds nothing wrong with consecutive transitions', () => {
  const state_history = [
    { from: null, to: 'PENDING', ...AT },
    { from: 'PENDING', to: 'PROVISIONING', ...AT },
  ] as const
  expect(illegalMovesOfWorker(aWorker({ state_history: [...state_history] }))).toEqual([])
})

it('finds a transition that no lifecycle allows, and one that does not start at the last status', () => {
  const leap = aWorker({ name: 'w', state_history: [{ from: 'PENDING', to: 'RUNNING', ...AT }] })
  expect(illegalMovesOfWorker(leap)).toEqual(['w moved from PENDING to RUNNING while it was PENDING'])
  const gap = aWorker({
    name: 'w',
    state_history: [
      { from: null, to: 'PENDING', ...AT },
      { from: 'STARTING', to: 'RUNNING', ...AT },
    ],
  })
  expect(illegalMovesOfWorker(gap)).toEqual(['w moved from STARTING to RUNNING while it was PENDING'])
})

it('checks sessions by their own lifecycle', () => {
  const leap = aSession({ id: 'ls-1', state_history: [{ from: 'PENDING', to: 'RUNNING', ...AT }] })
  expect(illegalMovesOfSession(leap)).toEqual(['ls-1 moved from PENDING to RUNNING while it was PENDING'])
})
