import type { DecisionRecord } from '@lcm/domain/decision'
import { toInstant } from '@lcm/domain/instant'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aRunningWorker, aWorker, START_MS } from '../testing/samples.ts'

const at = (secondsAgo: number) => toInstant(START_MS - secondsAgo * 1000)
const aDecision = (more: Partial<DecisionRecord>): DecisionRecord => ({
  id: 'd-1',
  at: at(20),
  service: 'worker-controller',
  epoch: 3,
  resource: 'worker:w-0abcdefgh0001',
  action: 'wait',
  because: 'CML answered 502',
  cause: 'timer',
  seen: {},
  guards: [],
  outcome: '',
  duration_ms: 3,
  ...more,
})

it('explains a boot: why, what is next, what was decided', async () => {
  const { shell, api, outLines } = capturedShell()
  api.put(
    aWorker({
      status: 'STARTING',
      entered_status_at: at(240),
      state_history: [{ from: 'PROVISIONING', to: 'STARTING', at: at(240), because: 'EC2 says running' }],
      desired_by: 'ann',
      desired_reason: 'class at nine',
      desired_until: toInstant(START_MS + 3_600_000),
    }),
  )
  api.decisions.push(
    aDecision({ guards: [{ name: 'ready_answers', value: 1, limit: 3, passed: false }] }),
    aDecision({
      id: 'd-2',
      at: at(240),
      action: 'write',
      because: 'EC2 says running',
      outcome: 'PROVISIONING -> STARTING',
    }),
  )
  api.plan.push({
    service: 'worker-controller',
    resource: 'worker:w-0abcdefgh0001',
    action: 'wait',
    because: 'CML answered 502',
    due_at: toInstant(START_MS + 10_000),
  })
  expect(await run(['why', 'worker', 'metal-1'], shell)).toBe(0)
  expect(outLines()).toEqual([
    'metal-1 is STARTING, for 4m now.',
    '',
    'Why',
    '  It became STARTING because EC2 says running.',
    '  Then worker-controller decided to wait: CML answered 502.',
    '    no  ready_answers is 1, and 3 is asked for',
    '',
    'Wanted',
    '  RUNNING, by ann: class at nine; no policy changes that for another 1h',
    '',
    'Next',
    '  wait, in 10s: CML answered 502',
    '',
    'Decisions, newest first',
    '  20s     wait                CML answered 502',
    '  4m      record              EC2 says running -> PROVISIONING -> STARTING',
  ])
})

it('says what stands out and what can be done about a worker that was stopped for idleness', async () => {
  const { shell, api, outLines } = capturedShell()
  api.put(
    aRunningWorker({
      status: 'STOPPED',
      desired_status: 'STOPPED',
      desired_by: 'idle',
      pause: { ...aWorker().pause, reason: 'idle', by: 'idle' },
      conditions: [
        { type: 'TagsChanged', status: true, reason: 'TagsChanged', message: 'a tag is gone', since: at(60) },
      ],
    }),
  )
  expect(await run(['why', 'worker', 'metal-1'], shell)).toBe(0)
  expect(outLines()).toContain('  TagsChanged, for 1m: a tag is gone')
  expect(outLines()).toContain('  lcm start worker metal-1    run it again')
  expect(outLines()).toContain('  nothing; it is as it should be')
})

it('gives programs what the API tells, and refuses a count that is none', async () => {
  const { shell, api, out } = capturedShell()
  api.put(aRunningWorker())
  api.decisions.push(aDecision({}), aDecision({ id: 'd-2' }))
  expect(await run(['why', 'worker', 'metal-1', '-n', '1', '--json'], shell)).toBe(0)
  expect(JSON.parse(out())).toMatchObject({ worker: { name: 'metal-1' }, decisions: [{ id: 'd-1' }], plan: null })
  expect(JSON.parse(out()).decisions.length).toBe(1)
  expect(await run(['why', 'worker', 'metal-1', '-n', 'many'], capturedShell().shell)).toBe(2)
})
