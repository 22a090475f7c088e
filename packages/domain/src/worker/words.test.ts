import { anAttempt, aTemplate, aWorker, someLaunchParameters } from '@lcm/testkit/builders'
import { aMachineSight, anObservation, onMachine } from '@lcm/testkit/observations'
import { describe, expect, it } from 'vitest'
import { toMs } from '../instant.ts'
import { decideWorker } from './decide.ts'
import { judgeLaunch, judgeStart } from './decision/launch.ts'
import { type Observation, WORKER_POLICY } from './observation.ts'
import type { Worker } from './worker.ts'

const NOW = toMs(aWorker().entered_status_at) + 60_000
const AWS_TEXT = 'We currently do not have sufficient m5zn.metal capacity in the Availability Zone you requested.'
const decide = (worker: Worker, more: Partial<Observation> = {}) =>
  decideWorker(worker, anObservation(more), WORKER_POLICY, NOW)

describe('a launch without room', () => {
  const refused = anAttempt({ state: 'refused', error: `RunInstances: InsufficientInstanceCapacity: ${AWS_TEXT}` })
  const template = aTemplate({ instance_types: ['m5zn.metal', 'm5.metal'] })
  const region = { security_group_ids: [], subnets: ['subnet-a', 'subnet-b'], key_name: null, default_tags: {} }
  const image = { image_id: 'ami-1', root_device: '/dev/sda1' }
  const nowhere = new Map(
    ['m5zn.metal', 'm5.metal'].flatMap(type =>
      ['subnet-a', 'subnet-b'].map(subnet => [`${type}/${subnet}`, NOW + 9_000]),
    ),
  )
  const inputs = { template, region, image, problem: null }
  const pending = aWorker({ status: 'PENDING', launch: refused })

  it('says where, and when it is tried again, in the same words each time', () => {
    const words = 'no room for m5zn.metal, m5.metal in subnet-a, subnet-b; asked again every 3 min'
    expect(decide(pending, { launch: { ...inputs, scarce: nowhere } }).because).toBe(words)
    const one = {
      ...inputs,
      template: aTemplate({ instance_types: ['m5zn.metal'] }),
      region: { ...region, subnets: ['subnet-a'] },
    }
    expect(
      decide(aWorker({ status: 'PENDING', launch: { ...refused, requested_at: aWorker().entered_status_at } }), {
        launch: { ...one, scarce: new Map() },
      }),
    ).toMatchObject({
      because: 'no room for m5zn.metal in subnet-a; asked again every 3 min',
      action: {
        kind: 'write',
        changes: { conditions: [{ type: 'LaunchBlocked', reason: 'NoCapacity' }] },
        afterMs: 120_000,
      },
    })
  })

  it('keeps the words of AWS with the attempt, and no others do', () => {
    const outcome = {
      kind: 'refused',
      errorClass: 'capacity',
      code: 'InsufficientInstanceCapacity',
      message: AWS_TEXT,
    } as const
    const open = anAttempt({ state: 'open', parameters: someLaunchParameters() })
    const { because, action } = judgeLaunch(pending, open, outcome, { policy: WORKER_POLICY, nowMs: NOW })
    expect(because).toBe('no room for m5zn.metal in subnet-a (InsufficientInstanceCapacity)')
    expect(action).toMatchObject({ changes: { launch: { error: AWS_TEXT } } })
    const starting = onMachine({ status: 'STARTING' })
    expect(judgeStart(starting, outcome, { policy: WORKER_POLICY, nowMs: NOW }).because).toBe(
      'no room to start m5zn.metal in us-east-1a, where its disk is (InsufficientInstanceCapacity); asked again every 3 min',
    )
  })
})

it('says that AWS refuses the account, without the endless rest of it', () => {
  const message = `RunInstances: UnauthorizedOperation: ${'x'.repeat(1_000)}`
  const outcome = { kind: 'refused', errorClass: 'auth', code: 'UnauthorizedOperation', message } as const
  const open = anAttempt({ state: 'open' })
  const { because } = judgeLaunch(aWorker(), open, outcome, { policy: WORKER_POLICY, nowMs: NOW })
  expect(because).toMatch(/^AWS refuses the launch to this account: RunInstances: UnauthorizedOperation: x+$/)
  expect(because.length).toBeLessThan(350)
})

describe('a boot', () => {
  const look = { ready_streak: 0, version: null, certificate_sha256: null }
  const starting = onMachine({ status: 'STARTING', service_status: 'STARTING' })

  it('says how far it has come, what it waits for and what is in the way', () => {
    const refused = { ...look, stage: 'NOTHING', detail: 'connection refused' } as const
    const words = 'its boot is at stage 2 of 6, waiting for the CML port to open: connection refused'
    const first = decide(starting, { cml: refused })
    expect(first.because).toBe(words)
    const conditions = first.action.kind === 'write' ? (first.action.changes.conditions ?? []) : []
    expect(decide({ ...starting, conditions, cml: { ...starting.cml, ready: false } }, { cml: refused })).toMatchObject(
      {
        action: { kind: 'wait' },
        because: words,
      },
    )
  })

  it('says that CML must stay ready once it is', () => {
    const ready = { ...look, stage: 'READY', ready_streak: 1, detail: '' } as const
    expect(decide(starting, { cml: ready }).because).toBe('CML is ready and must stay so for a moment')
  })
})

describe('a machine that dies behind our back', () => {
  const dying = (state: string, state_reason: string | null, more: Partial<Worker> = {}) =>
    decide(onMachine(more), {
      ec2: aMachineSight({ state, state_reason }),
    }).because

  it.each([
    ['terminated', 'Client.UserInitiatedShutdown', 'somebody outside LCM terminated i-1; its disk is gone'],
    ['shutting-down', 'Client.UserInitiatedShutdown', 'somebody outside LCM terminates i-1'],
    ['terminated', 'Client.InstanceInitiatedShutdown', 'i-1 shut itself down and was terminated; its disk is gone'],
    ['terminated', 'Server.InternalError', 'AWS terminated i-1 (Server.InternalError); its disk is gone'],
    ['terminated', null, 'i-1 was terminated, which nobody here asked for; its disk is gone'],
  ])('%s for %s: %s', (state, reason, words) => {
    expect(dying(state, reason)).toBe(words)
  })

  it('is no surprise to who asked for it', () => {
    const asked = { status: 'TERMINATING', desired_status: 'TERMINATED' } as const
    expect(dying('terminated', 'Client.UserInitiatedShutdown', asked)).toBe('EC2 confirmed that i-1 is terminated')
  })
})
