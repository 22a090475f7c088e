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
