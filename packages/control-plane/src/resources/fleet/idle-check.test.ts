import { toInstant } from '@lcm/domain/instant'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

const HOUR_MS = 3_600_000
const QUIET = { last_activity_at: null, running_nodes: 0 }

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const check = (id: string, evidence: object | null = QUIET, epoch = 1) =>
  fleet.fenced('POST', `workers/${id}/idle-checks`, { evidence }, { epoch })
const verdictOf = async (id: string, evidence: object | null = QUIET) => (await check(id, evidence)).json.verdict
const permits = async () => (await fleet.scaling())?.stop_permits
const set = (json: object) => fleet.send('PATCH', 'settings', { json })
const ago = (ms: number) => toInstant(fleet.clock.now() - ms)

/** Running workers without activity for two hours. */
async function idleWorkers(count: number, body: object = {}): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) ids.push((await fleet.running({ name: `idle-${n}`, ...body })).id)
  await fleet.clock.advance(2 * HOUR_MS)
  return ids
}
const anIdleWorker = async (body: object = {}): Promise<string> => (await idleWorkers(1, body))[0] ?? ''

const scalingOutcomes = async (subject?: string) =>
  (await fleet.journal('scaling', subject)).map(({ body }) => ('outcome' in body ? body.outcome : ''))
const stops = async () => (await scalingOutcomes('fleet_scaling:fleet')).filter(each => each === 'scale_down_initiated')
const wantedRunning = async () =>
  (await fleet.send('GET', 'workers?desired_status=RUNNING&status=RUNNING')).json.items.filter(
    (worker: { drain: unknown }) => worker.drain === null,
  )

describe('an idle worker', () => {
  it('is paused by the policy, with the reason', async () => {
    const id = await anIdleWorker()
    const { status, json } = await check(id)
    expect(status).toBe(200)
    expect(json).toMatchObject({
      verdict: 'pause',
      because: { code: 'idle_timeout', params: { timeout_seconds: 3600 } },
    })
    expect(json.guards.every((guard: { passed: boolean }) => guard.passed)).toBe(true)
    const { updated_at } = json.worker
    expect(json.worker).toMatchObject({
      status: 'RUNNING',
      desired_status: 'STOPPED',
      desired_by: 'idle',
      desired_reason: json.because.message,
      pause: {
        reason: { code: 'worker_idle' },
        by: 'idle',
        last_paused_at: updated_at,
        counts: { auto: 1, manual: 0 },
      },
      activity: { last_check_at: updated_at, idle_since: expect.any(String) },
    })
    expect(await fleet.get(id)).toEqual(json.worker)
  })

  it('writes the decision with its guards, and the scale-down, to the journal', async () => {
    const id = await anIdleWorker()
    await check(id)
    const [decision] = (await fleet.send('GET', `workers/${id}/decisions`)).json.items
    expect(decision).toMatchObject({ action: 'pause', cause: 'idle check', service: 'worker-controller', epoch: 1 })
    expect(decision.guards).toHaveLength(16)
    expect(await fleet.journal('scaling', 'fleet_scaling:fleet')).toMatchObject([
      { body: { outcome: 'scale_down_initiated', worker_id: id, because: decision.because } },
    ])
  })

  it('returns its permit when it is stopped', async () => {
    const id = await anIdleWorker()
    expect(await verdictOf(id)).toBe('pause')
    expect(await permits()).toEqual({})
    expect((await fleet.scaling())?.last_scale_down_at).not.toBeNull()
  })

  it('is drained where the policy says so, with the drain timeout of its template', async () => {
    await set({ idle_action: 'drain', scale_down_enabled: true })
    await fleet.send('POST', 'worker-templates', { json: { ...METAL, name: 'quick', drain_timeout_seconds: 90 } })
    const id = await anIdleWorker({ template_name: 'quick' })
    const { json } = await check(id)
    expect(json).toMatchObject({ verdict: 'drain', worker: { desired_status: 'RUNNING' } })
    const { drain } = json.worker
    expect(drain).toMatchObject({ by: 'idle', policy: 'idle', reason: json.because.message })
    expect(drain.then).toBe('STOPPED')
    expect(Date.parse(drain.deadline) - Date.parse(drain.requested_at)).toBe(90_000)
    expect(await verdictOf(id)).toBe('skipped_not_eligible')
  })

  it('can be started by a person, and the policy then leaves it alone', async () => {
    const id = await anIdleWorker()
    await check(id)
    await fleet.act(id, 'start')
    await fleet.clock.advance(HOUR_MS - 1_000)
    await set({ idle_timeout_seconds: 60, scale_down_cooldown_seconds: 0 })
    expect(await check(id)).toMatchObject({ json: { verdict: 'skipped_not_eligible' } })
    await fleet.clock.advance(2_000)
    expect(await verdictOf(id)).toBe('pause')
  })
})

describe('a worker is spared', () => {
  it.each<[string, string, (id: string) => Promise<unknown>]>([
    ['when it is already stopped', 'skipped_auto_pause', id => fleet.act(id, 'stop')],
    ['while idle detection is off', 'skipped_not_eligible', () => set({ idle_detection_enabled: false })],
    ['when its own idle detection is off', 'skipped_not_eligible', id => patch(id, { idle_detection_enabled: false })],
    ['while the policy is `none`', 'skipped_not_eligible', () => set({ idle_action: 'none' })],
    ['while the policy is `drain` and draining is off', 'skipped_not_eligible', () => set({ idle_action: 'drain' })],
    ['when it does not run', 'skipped_not_eligible', id => fleet.moveTo(id, 'STARTING')],
    ['when it is protected', 'skipped_not_eligible', id => patch(id, { protected: true })],
    ['when it is being drained', 'skipped_not_eligible', id => fleet.act(id, 'drain')],
    ['when it has sessions', 'skipped_not_eligible', id => fleet.reserve(id)],
    ['when sessions wait for it', 'skipped_not_eligible', id => fleet.edit(id, () => ({ wanted_by: ['ls-1'] }))],
    ['when a person holds it', 'skipped_not_eligible', id => fleet.act(id, 'start', { until: ago(-60_000) })],
    ['while the fleet is on hold', 'skipped_not_eligible', () => fleet.holdFleet()],
    ['when it is within min_workers', 'skipped_min_workers', () => set({ min_workers: 1 })],
  ])('%s: %s', async (_, verdict, arrange) => {
    const id = await anIdleWorker()
    await arrange(id)
    const before = await fleet.get(id)
    const { json } = await check(id)
    expect(json.verdict).toBe(verdict)
    expect(json.because).not.toBe('')
    const { desired_status, status, drain, pause } = before
    expect(await fleet.get(id)).toMatchObject({ desired_status, status, drain, pause })
    expect(await stops()).toEqual([])
    expect(await permits()).toEqual({})
    expect((await fleet.scaling())?.last_scale_down_at).toBeNull()
  })

  const patch = (id: string, json: object) => fleet.send('PATCH', `workers/${id}`, { json })

  it('when it was used within the hour', async () => {
    const id = await anIdleWorker()
    expect(await verdictOf(id, { ...QUIET, last_activity_at: ago(HOUR_MS - 1) })).toBe('skipped_not_idle')
    expect(await verdictOf(id, { ...QUIET, last_activity_at: ago(HOUR_MS) })).toBe('skipped_not_idle')
  })

  it('when its activity is unknown, also when it was idle before', async () => {
    const id = await anIdleWorker()
    expect(await check(id, null)).toMatchObject({
      json: { verdict: 'skipped_not_idle', because: { code: 'telemetry_unreadable' } },
    })
    await set({ idle_running_nodes: 'keep' })
    expect(await verdictOf(id, { last_activity_at: null, running_nodes: null })).toBe('skipped_not_eligible')
    expect(await stops()).toEqual([])
  })
})

describe('a worker whose CML refuses to list its users', () => {
  const refused = (id: string, unreadable: string) =>
    fleet.fenced('POST', `workers/${id}/idle-checks`, { evidence: null, unreadable }, { epoch: 1 })

  it.each(['no_credentials', 'login_refused', 'telemetry_refused', 'telemetry_off'])(
    'is not stopped, and the policy reports that it can’t judge it: %s',
    async unreadable => {
      const id = await anIdleWorker()
      const { json } = await refused(id, unreadable)
      const because = { code: 'idle_unknown', params: { telemetry: unreadable } }
      expect(json).toMatchObject({ verdict: 'skipped_cannot_judge', because })
      expect(json.guards).toContainEqual({ name: 'telemetry', value: unreadable, limit: 'readable', passed: false })
      expect(await stops()).toEqual([])
      const [decision] = (await fleet.send('GET', `workers/${id}/decisions`)).json.items
      expect(decision).toMatchObject({ action: 'skipped_cannot_judge', because })
    },
  )

  it('is recorded once per reason', async () => {
    const id = await anIdleWorker()
    await check(id, { ...QUIET, last_activity_at: ago(1_000) })
    for (const why of ['login_refused', 'login_refused', 'telemetry_refused', 'telemetry_refused'])
      await refused(id, why)
    expect((await scalingOutcomes(`worker:${id}`)).slice(0, 3)).toEqual([
      'skipped_cannot_judge',
      'skipped_cannot_judge',
      'skipped_not_idle',
    ])
  })
})

describe('a check writes', () => {
  const versionAfter = async (id: string, evidence: object | null) => {
    await check(id, evidence)
    return (await fleet.get(id)).version
  }

  it('nothing while nothing changes', async () => {
    const id = await anIdleWorker()
    await set({ min_workers: 1 })
    const version = await versionAfter(id, QUIET)
    const scaling = await fleet.scaling()
    const journal = await fleet.journal('decision', `worker:${id}`)
    for (let n = 0; n < 3; n += 1) {
      await fleet.clock.advance(300_000)
      expect(await versionAfter(id, QUIET)).toBe(version)
    }
    expect(await fleet.scaling()).toEqual(scaling)
    expect(await fleet.journal('decision', `worker:${id}`)).toEqual(journal)
  })

  it('activity that changed by a minute or more', async () => {
    const id = await anIdleWorker()
    const at = fleet.clock.now()
    const active = (ms: number) => ({ ...QUIET, last_activity_at: toInstant(at + ms) })
    const version = await versionAfter(id, active(0))
    expect(await versionAfter(id, active(59_999))).toBe(version)
    expect((await fleet.get(id)).activity.last_activity_at).toBe(toInstant(at))
    expect(await versionAfter(id, active(60_000))).toBe(version + 1)
    expect((await fleet.get(id)).activity.last_activity_at).toBe(toInstant(at + 60_000))
    expect(await versionAfter(id, active(0))).toBe(version + 1)
  })

  it('a verdict that changed, as a skip in the scaling journal', async () => {
    const [id = '', other = ''] = await idleWorkers(2)
    await set({ min_workers: 2 })
    await check(id)
    await set({ min_workers: 0 })
    await check(other)
    expect(await verdictOf(id)).toBe('skipped_cooldown')
    await check(id)
    expect((await scalingOutcomes(`worker:${id}`)).slice(0, 3)).toEqual([
      'skipped_cooldown',
      'skipped_min_workers',
      'provisioned',
    ])
  })

  it('no missing evidence', async () => {
    const id = await anIdleWorker()
    await set({ min_workers: 1 })
    await check(id, { ...QUIET, events: [{ at: ago(1_000), category: 'start_lab', detail: 'a' }] })
    const { activity } = await fleet.get(id)
    expect(activity.idle_since).not.toBeNull()
    await check(id, null)
    expect((await fleet.get(id)).activity).toEqual(activity)
  })

  it('the ten newest events of all checks, each once and in order', async () => {
    const id = await anIdleWorker()
    const base = fleet.clock.now()
    const event = (n: number) => ({ at: toInstant(base + n * 60_000), category: 'start_lab', detail: `lab ${n}` })
    const active = (...ns: number[]) => ({
      last_activity_at: toInstant(base + Math.max(...ns) * 60_000),
      running_nodes: 0,
      events: ns.map(event),
    })
    await check(id, active(3, 1, 2))
    await check(id, active(3, 4))
    expect((await fleet.get(id)).activity.recent_events).toEqual([1, 2, 3, 4].map(event))
    await check(id, active(...Array.from({ length: 9 }, (_, n) => n + 5)))
    expect((await fleet.get(id)).activity.recent_events).toEqual(Array.from({ length: 10 }, (_, n) => event(n + 4)))
  })

  it('the activity of the worker, which is returned with the policy', async () => {
    const id = await anIdleWorker()
    await set({ idle_action: 'drain', idle_timeout_seconds: 7200 })
    await check(id)
    const { json } = await fleet.send('GET', `workers/${id}/activity`, { as: 'user' })
    expect(json).toEqual({
      worker_id: id,
      idle_detection_enabled: true,
      activity: (await fleet.get(id)).activity,
      pause: (await fleet.get(id)).pause,
      policy: { enabled: true, timeout_seconds: 7200, snooze_seconds: 3600, action: 'none' },
    })
  })
})

describe('twenty concurrent checks', () => {
  const checkAll = (ids: readonly string[]) => Promise.all(ids.map(id => check(id)))

  it('stop a quarter of the fleet within 10 minutes, and the last ones one by one', async () => {
    const ids = await idleWorkers(20)
    const left: number[] = []
    for (let round = 0; round < 7; round += 1) {
      await checkAll(ids)
      left.push((await wantedRunning()).length)
      await fleet.clock.advance(599_000)
      await checkAll(ids)
      expect(await wantedRunning()).toHaveLength(left.at(-1) ?? 0)
      await fleet.clock.advance(2_000)
    }
    expect(left).toEqual([15, 12, 9, 7, 6, 5, 4])
    expect((await fleet.scaling())?.recent_stops).toHaveLength(1)
  })

  it('stop one worker per cooldown, if one is set', async () => {
    await set({ scale_down_cooldown_seconds: 600 })
    const ids = await idleWorkers(20)
    for (let round = 1; round <= 3; round += 1) {
      const answers = await checkAll(ids)
      expect(answers.filter(answer => answer.json.verdict === 'pause')).toHaveLength(1)
      expect(await wantedRunning()).toHaveLength(20 - round)
      expect(await stops()).toHaveLength(round)
      await fleet.clock.advance(599_000)
      expect((await checkAll(ids)).filter(answer => answer.json.verdict === 'pause')).toEqual([])
      await fleet.clock.advance(2_000)
    }
  })

  it.each(['pause', 'drain'])('never go below the minimum, also without a cooldown (%s)', async idle_action => {
    await set({ min_workers: 7, scale_down_cooldown_seconds: 0, scale_down_enabled: true, idle_action })
    const ids = await idleWorkers(20)
    const answers = await checkAll(ids)
    expect(answers.filter(answer => answer.json.verdict === idle_action)).toHaveLength(13)
    expect(await wantedRunning()).toHaveLength(7)
    expect(await stops()).toHaveLength(13)
    expect(await permits()).toEqual({})
    expect((await checkAll(ids)).every(answer => answer.json.verdict.startsWith('skipped_'))).toBe(true)
  })

  it('count again after a lost race, even when the winner has returned its permit', async () => {
    await set({ min_workers: 1, scale_down_cooldown_seconds: 0 })
    const [winner = '', loser = ''] = await idleWorkers(2)
    const run = async () => expect(await verdictOf(winner)).toBe('pause')
    fleet.store.interrupt({ kind: 'fleet_scaling', write: 'replace', when: 'before', run })
    expect(await verdictOf(loser)).toBe('skipped_min_workers')
    expect(await wantedRunning()).toHaveLength(1)
  })

  it('count neither undesired nor draining workers', async () => {
    await set({ min_workers: 2, scale_down_cooldown_seconds: 0 })
    const [a = '', b = '', c = '', d = ''] = await idleWorkers(4)
    await fleet.act(a, 'stop')
    await fleet.act(b, 'drain')
    expect([await verdictOf(c), await verdictOf(d)]).toEqual(['skipped_min_workers', 'skipped_min_workers'])
  })
})

describe('a permit that is left after a crash', () => {
  /** The process dies after it got the permit and before it changed the worker. */
  async function crashedCheck(id: string) {
    fleet.store.interrupt({ kind: 'worker', write: 'replace', when: 'before', run: crash })
    expect((await check(id)).status).toBe(503)
    expect((await fleet.scaling())?.stop_permits).toHaveProperty(id)
    expect((await fleet.get(id)).desired_status).toBe('RUNNING')
  }

  it('is used by the next check of its worker, without another scale-down', async () => {
    const id = await anIdleWorker()
    await crashedCheck(id)
    const last = (await fleet.scaling())?.last_scale_down_at
    await fleet.clock.advance(300_000)
    expect(await verdictOf(id)).toBe('pause')
    expect(await permits()).toEqual({})
    expect((await fleet.scaling())?.last_scale_down_at).toBe(last)
    expect(await stops()).toHaveLength(1)
  })

  it('is returned by it when the worker is in use again', async () => {
    const id = await anIdleWorker()
    await crashedCheck(id)
    await fleet.clock.advance(300_000)
    expect(await verdictOf(id, { ...QUIET, last_activity_at: ago(1_000) })).toBe('skipped_not_idle')
    expect(await permits()).toEqual({})
  })

  it('excludes its worker from the count, and keeps the others to the cooldown', async () => {
    const [crashed = '', other = ''] = await idleWorkers(2)
    await crashedCheck(crashed)
    expect(await verdictOf(other)).toBe('skipped_cooldown')
    await set({ min_workers: 1 })
    await fleet.clock.advance(600_000)
    expect(await verdictOf(other)).toBe('skipped_min_workers')
    expect(await verdictOf(crashed)).toBe('pause')
  })

  it('does not count against its own worker', async () => {
    const [crashed = ''] = await idleWorkers(2)
    await crashedCheck(crashed)
    expect(await verdictOf(crashed)).toBe('pause')
    expect(await stops()).toHaveLength(1)
  })

  it('is returned also when the worker was stopped and only the return was lost', async () => {
    const id = await anIdleWorker()
    fleet.store.interrupt({ kind: 'fleet_scaling', write: 'replace', when: 'before', skip: 1, run: crash })
    expect((await check(id)).status).toBe(503)
    expect((await fleet.get(id)).desired_status).toBe('STOPPED')
    await fleet.clock.advance(300_000)
    expect(await verdictOf(id)).toBe('skipped_auto_pause')
    expect(await permits()).toEqual({})
  })

  it('is left to the running check while it is a few seconds old', async () => {
    const id = await anIdleWorker()
    await crashedCheck(id)
    await fleet.clock.advance(10_000)
    expect(await verdictOf(id, { ...QUIET, last_activity_at: ago(1_000) })).toBe('skipped_not_idle')
    expect((await fleet.scaling())?.stop_permits).toHaveProperty(id)
  })
})

describe('a change between the permit and the stop wins', () => {
  it.each<[string, (id: string) => Promise<unknown>]>([
    ['a person who holds it', id => fleet.act(id, 'start', { until: ago(-60_000) })],
    ['a session', id => fleet.reserve(id)],
  ])('%s', async (_, come) => {
    const id = await anIdleWorker()
    fleet.store.interrupt({ kind: 'fleet_scaling', write: 'replace', when: 'after', run: () => come(id) })
    const { json } = await check(id)
    expect(json.verdict).toBe('skipped_not_eligible')
    expect(await fleet.get(id)).toMatchObject({ desired_status: 'RUNNING', pause: { reason: null } })
    expect(await permits()).toEqual({})
    expect((await scalingOutcomes(`worker:${id}`)).slice(0, 2)).toEqual(['skipped_not_eligible', 'scale_down_failed'])
  })
})

describe('a check', () => {
  it('is accepted from the leader of the worker-controller only', async () => {
    const id = await anIdleWorker()
    await check(id, { ...QUIET, last_activity_at: ago(0) }, 2)
    expect(await check(id, QUIET, 1)).toMatchObject({ status: 409, json: { code: 'stale_leader' } })
    await fleet.edit(id, () => ({ fence: { 'worker-controller': 9 } }))
    expect(await check(id, QUIET, 3)).toMatchObject({ status: 409, json: { code: 'stale_leader' } })
    const foreign = { evidence: QUIET }
    const path = `workers/${id}/idle-checks`
    expect((await fleet.fenced('POST', path, foreign, { by: 'resource-scheduler' })).status).toBe(403)
    expect(await stops()).toEqual([])
  })

  it('of an unknown worker is refused', async () => {
    expect(await check('w-none')).toMatchObject({ status: 404 })
  })
})
