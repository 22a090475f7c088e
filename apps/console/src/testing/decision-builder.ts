import type { DecisionRecord } from '@lcm/domain/journal-records'
import { textReason } from '@lcm/domain/reason'

/** For tests: what a worker-controller decided about one worker. */
export const aDecision = (changes: Partial<DecisionRecord> = {}): DecisionRecord => ({
  id: 'd-1',
  at: '2026-01-02T03:04:05.000Z',
  service: 'worker-controller',
  epoch: 1,
  resource: 'worker:w-1',
  action: 'start',
  because: textReason('EC2 says stopped and it is wanted RUNNING'),
  cause: 'timer',
  seen: {},
  guards: [],
  outcome: '',
  duration_ms: 1,
  ...changes,
})
