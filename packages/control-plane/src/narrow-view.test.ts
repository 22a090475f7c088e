import type { Role } from '@lcm/domain/actor'
import { NOT_DECIDED_YET } from '@lcm/domain/next-step'
import { reason } from '@lcm/domain/reason'
import { nextOfWorker } from '@lcm/domain/worker/worker-next-step'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from './testing/bookable-fleet.ts'

let course: Course
let id: string

beforeEach(async () => {
  course = aCourse()
  id = (await course.serving()).id
})

const read = async (path: string, as: Role) => (await course.send('GET', path, { as })).json

/** What console and command line say that happens next, from what this role may read. */
async function nextFor(as: Role) {
  const worker = await read(`workers/${id}`, as)
  const { items: decisions } = await read(`workers/${id}/decisions`, as)
  return nextOfWorker({ worker, decisions, plan: null, controller: null, nowMs: course.clock.now() })
}

describe('a user reads the same as an operator', () => {
  it('about a machine that needs an approval', async () => {
    const approval = { state: 'required', by: null, at: null, fingerprint: null } as const
    await course.edit(id, () => ({ launch: null, ec2_instance_id: 'i-0123456789abcdef0', approval }))
    const next = await nextFor('operator')
    expect(next.blocked_by?.code).toBe('ApprovalRequired')
    expect(await nextFor('user')).toEqual(next)
  })

  it('about what the controller decided last', async () => {
    await course.edit(id, () => ({ status: 'STOPPED', desired_status: 'RUNNING' }))
    const refused = reason('ec2_refuses', { action: 'start', instance_id: 'i-1', aws_code: 'X', error: 'a secret' })
    const decision = {
      id: 'd-1',
      at: new Date(course.clock.now()).toISOString(),
      resource: `worker:${id}`,
      action: 'wait',
      because: refused,
      seen: { ec2: 'stopped', status: 'STOPPED', desired_status: 'RUNNING', image: 'ami-1' },
    }
    const headers = { ...course.asService('worker-controller'), 'lcm-epoch': '1' }
    await course.send('POST', 'decisions', { headers, json: { epoch: 1, decisions: [decision] } })
    const [whole, narrow] = [await nextFor('operator'), await nextFor('user')]
    expect(whole.blocked_by?.reason).toEqual(refused)
    expect(narrow.blocked_by?.code).not.toBe(NOT_DECIDED_YET)
    expect(narrow).toMatchObject({ next: whole.next, since: whole.since, blocked_by: { code: whole.blocked_by?.code } })
    expect(narrow.blocked_by?.reason.message).toBe('EC2 refuses to start …: …')
  })
})

describe('a session that waits', () => {
  const because = reason('region_worker_limit', { region: 'us-east-1', limit: 10 })

  /** Ann's session, for which the scheduler has no machine. */
  async function waiting() {
    const session = await course.book({ start: new Date(course.clock.now()).toISOString() })
    const json = { changes: { waiting_reason: because }, decision: { action: 'wait', because } }
    const sent = { by: 'resource-scheduler', ifMatch: session.version } as const
    await course.fenced('PATCH', `lablet-sessions/${session.id}/status`, json, sent)
    return session.id
  }

  it.each(['lablet-sessions/ID', 'lablet-sessions/ID/decisions', 'lablet-sessions', 'lablet-sessions/mine'])(
    'is read by its owner without limits of the fleet: %s',
    async path => {
      const session = await waiting()
      const [shown, whole] = await Promise.all(
        (['user', 'operator'] as const).map(as => read(path.replace('ID', session), as)),
      )
      expect(JSON.stringify(shown)).toContain('no machine is free yet')
      expect(JSON.stringify(shown)).not.toMatch(/us-east-1|limit of/)
      if (!path.endsWith('mine')) expect(JSON.stringify(whole)).toContain(because.message)
    },
  )

  it('is sent to its owner without limits of the fleet', async () => {
    const stop = course.run()
    const streams = [await course.follow('', 'user'), await course.follow('', 'operator')] as const
    const session = await waiting()
    await course.clock.advance(3_000)
    const [own, all] = await Promise.all(
      streams.map(async stream =>
        JSON.stringify((await stream.seen()).filter(event => JSON.stringify(event).includes(session))),
      ),
    )
    expect(own).toContain('no machine is free yet')
    expect(own).not.toMatch(/limit of 10/)
    expect(all).toContain('limit of 10')
    for (const stream of streams) await stream.stop()
    await stop()
  })

  it('stays down for its owner when it is late, for the same public reason', async () => {
    const session = await waiting()
    await course.clock.advance(5 * 60_000)
    await course.tend(60_000)
    const [shown, whole] = await Promise.all(
      (['user', 'operator'] as const).map(as => read(`lablet-sessions/${session}`, as)),
    )
    expect([shown.health.status, shown.health.reason.code]).toEqual(['DOWN', 'no_machine_free'])
    expect([whole.health.status, whole.health.reason.code]).toEqual(['DOWN', 'region_worker_limit'])
  })
})

describe('a learner reads where a session is placed, not how the workers compare', () => {
  it('in its history and decisions', async () => {
    const session = await course.book({ start: new Date(course.clock.now()).toISOString() })
    const json = {
      worker_id: id,
      decision: { action: 'assign', because: reason('placed_on_empty', { worker: 'metal-1' }) },
    }
    await course.fenced('POST', `lablet-sessions/${session.id}/assignment`, json, {
      by: 'resource-scheduler',
      ifMatch: session.version,
    })
    for (const path of [`lablet-sessions/${session.id}`, `lablet-sessions/${session.id}/decisions`]) {
      const [shown, whole] = await Promise.all((['user', 'operator'] as const).map(async as => read(path, as)))
      expect(JSON.stringify(shown)).toContain('"placed on metal-1"')
      expect(JSON.stringify(shown)).not.toContain('candidate')
      expect(JSON.stringify(whole)).toContain('placed on metal-1: all candidates are empty')
    }
  })

  it('in the preview of a definition', async () => {
    const { definition } = await course.book({ start: new Date(course.clock.now()).toISOString() })
    const preview = async (as: Role) =>
      (await course.send('POST', `lablet-definitions/${definition.id}/placement-preview`, { as })).json
    expect((await preview('operator')).candidates).toHaveLength(1)
    expect(await preview('user')).toMatchObject({
      outcome: 'place',
      because: { code: 'placed_on' },
      candidates: [],
      refusals: [],
    })
    await course.edit(id, () => ({ service_status: 'UNAVAILABLE' }))
    expect((await preview('operator')).refusals).toHaveLength(1)
    expect(await preview('user')).toMatchObject({ candidates: [], refusals: [] })
    expect(JSON.stringify(await preview('user'))).not.toMatch(/metal|limit|template/)
  })
})
