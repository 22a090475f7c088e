import { textReason } from '@lcm/domain/reason'
import { movesFrom } from '@lcm/domain/worker/lifecycle'
import { type StateChange, WORKER_STATUSES, type WorkerStatus } from '@lcm/domain/worker/worker'
import { describe, expect, it } from 'vitest'
import { BOX, DIAGRAM, lifecycleOf, lifecycleText, stepsText } from './lifecycle-diagram-layout.ts'

const life = (...statuses: WorkerStatus[]): StateChange[] =>
  statuses.map((to, index) => ({
    from: statuses[index - 1] ?? null,
    to,
    at: `2026-01-02T03:04:0${index % 10}.000Z`,
    because: textReason(''),
  }))

const twice = life('PENDING', 'PROVISIONING', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED', 'STARTING', 'RUNNING')

describe('the lifecycle diagram', () => {
  it('numbers each transition that happened', () => {
    const { moves } = lifecycleOf('RUNNING', twice)
    const stepsBy = Object.fromEntries(moves.map(({ from, to, steps }) => [`${from} ${to}`, steps]))
    expect(stepsBy).toMatchObject({
      'PENDING PROVISIONING': [2],
      'STARTING RUNNING': [4, 8],
      'STOPPED STARTING': [7],
      'RUNNING DRAINING': [],
    })
    expect(moves.filter(({ isNewest }) => isNewest)).toMatchObject([{ from: 'STARTING', to: 'RUNNING' }])
  })

  it('shows the current, past and possible statuses', () => {
    const { statuses } = lifecycleOf('STOPPED', life('PENDING', 'TERMINATED').slice(0, 1))
    const stateOf = (wanted: WorkerStatus) => statuses.find(({ status }) => status === wanted)?.state
    expect([stateOf('STOPPED'), stateOf('PENDING'), stateOf('RUNNING')]).toEqual(['now', 'visited', 'ahead'])
    expect(statuses).toHaveLength(WORKER_STATUSES.length)
  })

  it('draws an unusual transition once it has happened', () => {
    const has = (history: StateChange[]) =>
      lifecycleOf('RUNNING', history).moves.some(({ from, to }) => from === 'FAILED' && to === 'RUNNING')
    expect(has([])).toBe(false)
    expect(has(life('FAILED', 'RUNNING'))).toBe(true)
  })

  it('offers no transition that the lifecycle does not have', () => {
    const illegal = lifecycleOf('PENDING', []).moves.filter(({ from, to }) => !movesFrom(from).includes(to))
    expect(illegal).toEqual([])
  })

  it('keeps every line of every legal transition inside, and its number off the boxes', () => {
    for (const from of WORKER_STATUSES)
      for (const to of movesFrom(from)) {
        const { moves, statuses } = lifecycleOf(to, life(from, to))
        const { path = '', middle = { x: 0, y: 0 } } = moves.find(move => move.isNewest) ?? {}
        const numbers = [...path.matchAll(/-?[\d.]+/g)].map(([number]) => Number(number))
        expect(numbers.every(Number.isFinite), `${from} ${to} ${path}`).toBe(true)
        const isInside = middle.x > 0 && middle.x < DIAGRAM.width && middle.y > 0 && middle.y < DIAGRAM.height
        expect(isInside, `${from} ${to} ${path}`).toBe(true)
        const hit = statuses.filter(
          ({ x, y }) => Math.abs(x - middle.x) < BOX.width / 2 && Math.abs(y - middle.y) < BOX.height / 2,
        )
        expect(hit, `${from} -> ${to} lies on ${hit[0]?.status}`).toEqual([])
      }
  })
})

it('shows a transition and how often it happened', () => {
  expect([stepsText([2]), stepsText([4, 8])]).toEqual(['2', '8 ×2'])
})

it('has a text alternative', () => {
  expect(lifecycleText('STOPPED', life('PENDING', 'PROVISIONING'))).toBe(
    'Lifecycle: now STOPPED. History: PENDING, PROVISIONING.',
  )
})
