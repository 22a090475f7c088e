import { anEc2Observation, anObservation } from '@lcm/testkit/observation-builders'
import { anAttempt, anInstance, aTemplate, aWorker, someLaunchParameters } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toMs } from '../../instant.ts'
import { reason, textReason } from '../../reason.ts'
import { RegionConfig } from '../../template/worker-template.ts'
import { decideWorker } from '../decide.ts'
import { type Ec2Observation, type LaunchInputs, WORKER_POLICY } from '../observation.ts'
import { Tags, type Worker } from '../worker.ts'
import type { Decision } from './decision.ts'
import { judgeLaunch } from './launch.ts'

const NOW = toMs(aWorker().entered_status_at) + 1_000
const NOTHING_THERE: Ec2Observation = { kind: 'absent', confirmed: false, because: textReason('not seen') }
const REGION: RegionConfig = {
  security_group_ids: ['sg-1'],
  subnets: ['subnet-a', 'subnet-b'],
  key_name: 'k',
  default_tags: { team: 'labs' },
}
const inputs = (more: Partial<LaunchInputs> = {}): LaunchInputs => ({
  template: aTemplate(),
  region: REGION,
  image: { image_id: 'ami-7', root_device: '/dev/xvda' },
  scarce: new Map(),
  problem: null,
  ...more,
})
const decide = (
  worker: Worker,
  observed: Ec2Observation = NOTHING_THERE,
  launch: LaunchInputs | null = inputs(),
  nowMs = NOW,
): Decision =>
  decideWorker(worker, anObservation({ ec2: observed, launch }), { ...WORKER_POLICY, fleet: 'fleet-1' }, nowMs)

describe('launching exactly once', () => {
  it.each([true, false, null])('asks for a public address as its template says: %s', associate_public_ip => {
    const { action } = decide(aWorker(), NOTHING_THERE, inputs({ template: aTemplate({ associate_public_ip }) }))
    expect(action).toMatchObject({ kind: 'open_attempt', parameters: { associate_public_ip } })
  })

  it('stores the attempt, fully rendered, before it calls EC2', () => {
    const { action } = decide(aWorker({ tags: { owner: 'me', 'lcm:fleet': 'stolen' } }))
    expect(action).toEqual({
      kind: 'open_attempt',
      n: 1,
      parameters: {
        image_id: 'ami-7',
        instance_type: 'm5zn.metal',
        subnet_id: 'subnet-a',
        associate_public_ip: null,
        security_group_ids: ['sg-1'],
        key_name: 'k',
        root_device: '/dev/xvda',
        root_volume_gb: 64,
        volume_encrypted: true,
        iam_instance_profile: null,
        nested_virtualization: false,
        user_data_ref: null,
        tags: {
          Name: 'metal-1',
          team: 'labs',
          owner: 'me',
          'cml-managed': 'true',
          'lcm:worker_id': 'w-1',
          'lcm:template_name': 'metal',
          'lcm:managed_by': 'lablet-cloud-manager',
          'lcm:fleet': 'fleet-1',
        },
      },
    })
  })

  it('gives an instance no more than the 50 tags that EC2 allows, with all tags of a region and a worker', () => {
    const tags = (of: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`${of}-${n}`, 'x']))
    const region = RegionConfig.parse({ subnets: ['subnet-a'], default_tags: tags('region', 9) })
    const { action } = decide(aWorker({ tags: Tags.parse(tags('worker', 35)) }), NOTHING_THERE, inputs({ region }))
    expect(action.kind === 'open_attempt' && Object.keys(action.parameters.tags)).toHaveLength(50)
    expect(RegionConfig.safeParse({ subnets: ['subnet-a'], default_tags: tags('region', 10) }).success).toBe(false)
    expect(Tags.safeParse(tags('worker', 36)).success).toBe(false)
  })

  it('calls EC2 only with an open attempt whose instance is not visible', () => {
    const open = aWorker({ launch: anAttempt({ state: 'open' }) })
    expect(decide(open)).toMatchObject({
      action: { kind: 'launch' },
      because: { code: 'launch_attempt_open', params: { attempt: 1 } },
    })
    expect(
      decide(open, { kind: 'unknown', because: textReason('EC2 did not answer'), sinceMs: null }).action.kind,
    ).toBe('retry')
  })

  it('adopts the instance that a predecessor launched', () => {
    const open = aWorker({ launch: anAttempt({ state: 'open' }) })
    const { action, because } = decide(open, anEc2Observation({ state: 'pending' }))
    expect(action).toMatchObject({
      changes: { status: 'PROVISIONING', ec2_instance_id: 'i-1', launch: { n: 1, state: 'launched' } },
    })
    expect(because).toMatchObject({ code: 'launch_token_found', params: { instance_id: 'i-1', attempt: 1 } })
  })

  it('adopts an instance that is tagged as its own, and does not trust it as launched by LCM', () => {
    const open = aWorker({ launch: anAttempt({ state: 'open' }) })
    for (const client_token of [null, 'b'.repeat(64)]) {
      const { action, because } = decide(open, anEc2Observation({ client_token }))
      expect(action).toMatchObject({ changes: { ec2_instance_id: 'i-1', launch: { n: 1, state: 'adopted' } } })
      expect(because).toMatchObject({ code: 'launch_token_missing', params: { instance_id: 'i-1', attempt: 1 } })
    }
  })

  it('does not trust an instance that carries its token and runs another image: the token can be computed', () => {
    const open = aWorker({ launch: anAttempt({ state: 'open' }) })
    const { action, because } = decide(open, anEc2Observation({ image_id: 'ami-of-a-stranger' }))
    expect(action).toMatchObject({ changes: { ec2_instance_id: 'i-1', launch: { n: 1, state: 'adopted' } } })
    expect(because).toMatchObject({
      code: 'launch_image_differs',
      params: { image_id: 'ami-of-a-stranger', expected_image_id: 'ami-1' },
    })
  })

  it('closes an attempt whose instance is dead and opens the next one with another offer', () => {
    const open = aWorker({ launch: anAttempt({ state: 'open' }) })
    const dead = decide(open, anEc2Observation({ state: 'terminated' }))
    expect(dead).toMatchObject({
      action: { changes: { launch: { n: 1, state: 'spent' } }, afterMs: 0 },
      because: { code: 'launch_attempt_died', params: { instance_id: 'i-1', attempt: 1, state: 'terminated' } },
    })
    const spent = aWorker({ launch: anAttempt({ n: 1, state: 'spent' }) })
    expect(decide(spent), 'not at once: the next might die too').toMatchObject({
      action: { kind: 'wait' },
      because: { code: 'launch_paused', params: { attempt: 2, error: null } },
    })
    const next = decide(spent, NOTHING_THERE, inputs(), NOW + 180_000)
    expect(next).toMatchObject({
      action: { kind: 'open_attempt', n: 2, parameters: { subnet_id: 'subnet-b' } },
      because: { code: 'launch_attempt', params: { attempt: 2, instance_type: 'm5zn.metal', subnet_id: 'subnet-b' } },
    })
  })

  const at = (offer: readonly [string, string]): Worker =>
    aWorker({
      launch: anAttempt({
        n: 7,
        state: 'refused',
        error: 'no capacity',
        parameters: someLaunchParameters({ instance_type: offer[0], subnet_id: offer[1] }),
      }),
    })
  const placeOf = ({ action }: Decision) =>
    action.kind === 'open_attempt' ? [action.parameters.instance_type, action.parameters.subnet_id] : action.kind

  it('goes through all subnets and types, best first, skips those without capacity, and waits when all are full', () => {
    const full = new Map<string, number>()
    const places: unknown[] = []
    let worker = aWorker()
    for (let n = 0; n < 5; n += 1) {
      const decision = decide(worker, NOTHING_THERE, inputs({ scarce: new Map(full) }))
      places.push(placeOf(decision))
      if (decision.action.kind !== 'open_attempt') break
      const { instance_type, subnet_id } = decision.action.parameters
      full.set(`${instance_type}/${subnet_id}`, NOW + 180_000 + n)
      worker = at([instance_type, subnet_id])
    }
    expect(places).toEqual([
      ['m5zn.metal', 'subnet-a'],
      ['m5zn.metal', 'subnet-b'],
      ['c5.metal', 'subnet-a'],
      ['c5.metal', 'subnet-b'],
      'write',
    ])
    const { action } = decide(worker, NOTHING_THERE, inputs({ scarce: full }))
    expect(action).toMatchObject({
      changes: { conditions: [{ type: 'LaunchBlocked', reason: { code: 'ec2_no_capacity' } }] },
      afterMs: 180_000,
    })
    const later = decide(worker, NOTHING_THERE, inputs({ scarce: full }), NOW + 180_000)
    expect(placeOf(later), 'the one that is free first').toEqual(['m5zn.metal', 'subnet-a'])
  })

  it('does not retry at once when there is only one offer, also without memory of the refusal', () => {
    const one = inputs({
      template: aTemplate({ instance_types: ['c5.metal'], subnets: { 'us-east-1': ['subnet-t'] } }),
    })
    const refused = at(['c5.metal', 'subnet-t'])
    expect(decide(refused, NOTHING_THERE, one).action).toMatchObject({ kind: 'write', afterMs: 179_000 })
    expect(placeOf(decide(refused, NOTHING_THERE, one, NOW + 180_000))).toEqual(['c5.metal', 'subnet-t'])
  })

  it("uses the template's own subnets when it has some", () => {
    const template = aTemplate({ subnets: { 'us-east-1': ['subnet-t'] } })
    expect(decide(aWorker(), NOTHING_THERE, inputs({ template })).action).toMatchObject({
      parameters: { subnet_id: 'subnet-t' },
    })
  })
})

describe('a launch that is no longer requested', () => {
  const unwanted = (launch: Worker['launch']) => aWorker({ desired_status: 'TERMINATED', launch })

  it('ends at once when EC2 was not called', () => {
    expect(decide(unwanted(null))).toMatchObject({
      action: { changes: { status: 'TERMINATED' } },
      because: { code: 'nothing_launched' },
    })
    expect(decide(unwanted(anAttempt({ state: 'refused' }))).action).toMatchObject({
      changes: { status: 'TERMINATED' },
    })
  })

  it('waits while an open attempt may still show an instance, and never calls EC2 again', () => {
    const open = unwanted(anAttempt({ state: 'open' }))
    expect(decide(open)).toMatchObject({
      action: { kind: 'wait' },
      because: { code: 'launch_attempt_unresolved', params: { attempt: 1 } },
    })
    const gone = decide(open, { kind: 'absent', confirmed: true, because: textReason('gone') })
    expect(gone).toMatchObject({
      action: { changes: { launch: { state: 'spent' } }, afterMs: 0 },
      because: { code: 'nothing_launched' },
    })
  })

  it('records an instance that shows up, so that it can be terminated', () => {
    const found = decide(unwanted(anAttempt({ state: 'open' })), anEc2Observation())
    expect(found.action).toMatchObject({ changes: { status: 'PROVISIONING', ec2_instance_id: 'i-1' } })
  })

  it('is held when STOPPED is requested, with one condition', () => {
    const held = decide(aWorker({ desired_status: 'STOPPED' }))
    expect(held.action).toMatchObject({
      kind: 'write',
      changes: { conditions: [{ type: 'HeldByIntent', reason: { code: 'stopped_before_launch' } }] },
      afterMs: null,
    })
    const conditions = held.action.kind === 'write' ? (held.action.changes.conditions ?? []) : []
    expect(decide(aWorker({ desired_status: 'STOPPED', conditions })).action.kind).toBe('nothing')
  })
})

describe('a launch that lacks an input', () => {
  it.each([
    ['template_not_found', { template: 'metal' }, { template: null }],
    ['template_disabled', { template: 'metal' }, { template: aTemplate({ enabled: false }) }],
    ['region_not_configured', { region: 'us-east-1' }, { region: null }],
    ['subnet_not_configured', { region: 'us-east-1' }, { region: { ...REGION, subnets: [] } }],
    ['image_not_found', { pattern: 'cml-*', owner: 'self', region: 'us-east-1' }, { image: null }],
  ])('is blocked, waits, and fails after the timeout: %s', (code, params, lacking) => {
    const now = decide(aWorker(), NOTHING_THERE, inputs(lacking))
    const because = { code: 'launch_input_missing', params: { cause: { code, params } } }
    expect(now.because).toMatchObject(because)
    expect(now.action).toMatchObject({
      kind: 'write',
      changes: { conditions: [{ type: 'LaunchBlocked', reason: because }] },
    })
    const conditions = now.action.kind === 'write' ? (now.action.changes.conditions ?? []) : []
    const waiting = aWorker({ conditions })
    expect(decide(waiting, NOTHING_THERE, inputs(lacking), NOW + 9 * 60_000).action.kind).toBe('wait')
    const later = decide(waiting, NOTHING_THERE, inputs(lacking), NOW + 11 * 60_000)
    expect(later).toMatchObject({
      action: { changes: { status: 'FAILED', conditions: [{}, { type: 'Failed', reason: because }] } },
      because: { code: 'launch_input_timeout', params: because.params },
    })
  })
})

it('retries with backoff while EC2 does not name an image, and never fails for it', () => {
  const problem = { because: textReason('EC2 does not answer'), sinceMs: NOW }
  const decision = decide(aWorker(), NOTHING_THERE, inputs({ image: null, problem }), NOW + 60 * 60_000)
  const condition = { type: 'Ec2Unreachable', reason: problem.because }
  expect(decision.action).toMatchObject({ kind: 'retry', changes: { conditions: [condition] } })
})

describe('the response of EC2', () => {
  const attempt = anAttempt({ state: 'open' })
  const worker = aWorker({ launch: attempt })
  const judge = (errorClass: string) =>
    judgeLaunch(
      worker,
      attempt,
      { kind: 'refused', errorClass, code: 'Code', message: 'text' },
      { policy: WORKER_POLICY, nowMs: NOW },
    )

  it('records a launched instance in one write', () => {
    const outcome = { kind: 'launched', instance: anInstance({ state: 'pending', public_ip: null }) } as const
    expect(judgeLaunch(worker, attempt, outcome, { policy: WORKER_POLICY, nowMs: NOW })).toMatchObject({
      action: { changes: { status: 'PROVISIONING', ec2_instance_id: 'i-1', launch: { state: 'launched' } } },
      because: { code: 'instance_launched', params: { instance_id: 'i-1' } },
    })
  })

  it('keeps the attempt open while it may have launched', () => {
    const params = { attempt: 1, error: 'text' }
    expect(judge('throttled')).toMatchObject({
      action: { kind: 'wait' },
      because: { code: 'launch_throttled', params },
    })
    expect(judge('attempt_mismatch')).toMatchObject({
      action: { kind: 'wait' },
      because: { code: 'launch_attempt_mismatch', params },
    })
    for (const errorClass of ['transient', 'not_found'])
      expect(judge(errorClass), errorClass).toEqual({
        action: { kind: 'retry', changes: null },
        because: reason('launch_outcome_unknown', params),
        guards: [],
      })
  })

  it('closes the attempt on a definite refusal', () => {
    expect(judge('capacity')).toMatchObject({
      action: { changes: { launch: { state: 'refused', error: 'text' } }, afterMs: 0 },
      because: {
        code: 'ec2_no_capacity',
        params: { action: 'launch', instance_types: ['m5zn.metal'], locations: ['subnet-a'], aws_code: 'Code' },
      },
    })
    expect(judge('attempt_spent')).toMatchObject({
      action: { changes: { launch: { state: 'spent', error: 'text' } }, afterMs: 0 },
      because: { code: 'launch_attempt_spent', params: { attempt: 1, error: 'text' } },
    })
  })

  it('waits on quota and permission errors, with the reason', () => {
    for (const errorClass of ['quota', 'auth']) {
      expect(judge(errorClass).action).toMatchObject({
        kind: 'write',
        changes: {
          conditions: [
            {
              type: 'LaunchBlocked',
              reason: {
                code: 'aws_denies',
                params: { action: 'launch', error_class: errorClass, aws_code: 'Code', error: 'text' },
              },
            },
          ],
        },
      })
    }
    expect(judge('quota').action).toMatchObject({ afterMs: 5 * 60_000 })
    expect(judge('auth').action).toMatchObject({ afterMs: 60_000 })
  })

  it('fails a launch that can never succeed', () => {
    const because = { code: 'launch_invalid', params: { aws_code: 'Code', error: 'text' } }
    expect(judge('invalid')).toMatchObject({
      action: {
        changes: {
          status: 'FAILED',
          launch: { state: 'refused', error: 'text' },
          conditions: [{ type: 'Failed', reason: because }],
        },
        afterMs: null,
      },
      because,
    })
  })
})
