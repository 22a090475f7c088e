import { textReason } from '@lcm/domain/reason'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aReplica } from '../testing/resource-builders.ts'

const LATE = '2025-12-31T23:59:35.000Z'

function served() {
  const captured = capturedShell()
  captured.api.setReplicas(
    aReplica(),
    aReplica({ instance_id: 'b', is_leader: false, seen_at: LATE, problems: [textReason('the quota is used up')] }),
  )
  return { ...captured, lcm: (...args: string[]) => run(args, captured.shell) }
}

it('lists services with the figures of the leader', async () => {
  const { lcm, outLines } = served()
  expect(await lcm('get', 'services')).toBe(0)
  expect(outLines()).toEqual([
    'SERVICE              STATE         REPLICAS   LEADER   TERM   SINCE    QUEUE                RETRIES   WATCH    LAST SWEEP',
    'resource-scheduler   not running          0   -           3   -        -                          -   -        -',
    'lablet-controller    not running          0   -           3   -        -                          -   -        -',
    'worker-controller    degraded             2   a           3   0s ago   1 queued, 2 active         4   5s ago   0s ago',
  ])
})

it('describes one service with all replicas and problems', async () => {
  const { lcm, out } = served()
  expect(await lcm('describe', 'service', 'worker-controller')).toBe(0)
  expect(out()).toMatch(/a +leader +3 /)
  expect(out()).toMatch(/b +standby +3 /)
  expect(out()).toContain('b: no heartbeat for 25s\n  b: the quota is used up\n')
  await lcm('describe', 'service', 'resource-scheduler')
  expect(out()).toContain('not running: start it with `lcm serve resource-scheduler`')
  expect(await lcm('describe', 'service', 'nonsense')).toBe(3)
})

it('counts the requests', async () => {
  const { lcm, out } = served()
  for (const verb of ['trigger', 'resign', 'resign']) await lcm('services', verb, 'worker-controller')
  await lcm('describe', 'service', 'worker-controller')
  expect(out()).toContain('1 trigger, 2 resignations')
})

it('marks a deposed leader that has not noticed', async () => {
  const { lcm, api, out } = served()
  api.setReplicas(aReplica({ instance_id: 'b' }), aReplica({ epoch: 4 }))
  await lcm('describe', 'service', 'worker-controller')
  expect(out()).toContain('b: deposed, but still claims to lead')
})

it('polls services, and prints only changes', async () => {
  const { lcm, api, clock, interrupt, outLines } = served()
  const watching = lcm('get', 'services', '--watch', '-o', 'json')
  await api.answered('GET /services')
  await clock.advance(5_000)
  await api.answered('GET /services', 2)
  api.setReplicas(aReplica({ instance_id: 'b', epoch: 4, retries: 9 }))
  await clock.advance(5_000)
  await api.answered('GET /services', 3)
  api.setReplicas(aReplica({ instance_id: 'b', epoch: 4, retries: 10 }))
  await clock.advance(5_000)
  await api.answered('GET /services', 4)
  await clock.advance(0)
  interrupt()
  expect(await watching).toBe(0)
  expect(outLines().map(line => JSON.parse(line).leader?.epoch ?? null)).toEqual([null, null, 3, 4])
})

it('shows the newest figures on a screen', async () => {
  const { shell, api, clock, interrupt, out } = capturedShell({ isTty: true })
  const watching = run(['get', 'services', '--watch', '--no-color'], shell)
  await api.answered('GET /services')
  await clock.advance(5_000)
  api.setReplicas(aReplica({ retries: 4711 }))
  await clock.advance(5_500)
  expect(out()).toContain('4711')
  interrupt()
  expect(await watching).toBe(0)
})
