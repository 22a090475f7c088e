import { describe, expect, it } from 'vitest'
import { reason } from '../reason.ts'
import { Plan } from './plan.ts'

describe('a plan', () => {
  it('is data that can be stored', () => {
    const at = '2026-01-02T08:39:00.000Z'
    const step = { kind: 'wake', at, because: reason('not_given'), usd: 1.2, session_ids: ['ls-1'] }
    const machine = { key: 'w-1', worker_id: 'w-1', template_name: 'metal', session_ids: ['ls-1'], steps: [step] }
    const plan = { at, until: at, machines: [machine], unplaced: [], usd: 1.2 }
    expect(Plan.parse(JSON.parse(JSON.stringify(plan)))).toEqual(plan)
  })
})
