import { aWorker } from '@lcm/testkit/builders'
import { describe, expect, it } from 'vitest'
import { aDecision } from '../../testing/a-decision.ts'
import {
  actsOn,
  agrees,
  cmlTroubles,
  feedOf,
  isFailed,
  nameOf,
  pairsOf,
  scriptText,
  weatherOf,
} from './machine-view.ts'
import type { SimMachine } from './sim-client.ts'

const machine = (changes: Partial<SimMachine> = {}): SimMachine => ({
  instance_id: 'i-1',
  region: 'us-east-1',
  availability_zone: 'us-east-1a',
  instance_type: 'm5zn.metal',
  state: 'running',
  stage: 'READY',
  served: true,
  retires_at: null,
  tags: {},
  cml_faults: {},
  ...changes,
})
const worker = aWorker({ id: 'w-1', name: 'metal-1', status: 'RUNNING', ec2_instance_id: 'i-1' })

describe('machines beside workers', () => {
  it('are paired by their id, without those that are gone and expected to be', () => {
    const gone = machine({ instance_id: 'i-2', state: 'terminated' })
    const killed = machine({ instance_id: 'i-3', state: 'terminated' })
    const stranger = machine({ instance_id: 'i-0', tags: { Name: 'a stranger' } })
    const widowed = aWorker({ id: 'w-3', name: 'metal-3', status: 'RUNNING', ec2_instance_id: 'i-3' })
    const pairs = pairsOf([machine(), gone, killed, stranger], [worker, widowed])
    expect(pairs.map(pair => [nameOf(pair), agrees(pair)])).toEqual([
      ['a stranger', null],
      ['metal-1', true],
      ['metal-3', false],
    ])
  })

  it('differ when something happened behind our back', () => {
    expect(agrees({ machine: machine({ state: 'stopped' }), worker })).toBe(false)
    expect(agrees({ machine: machine({ state: 'stopped' }), worker: { ...worker, status: 'STARTING' } })).toBe(true)
  })

  it('take what EC2 lets one do', () => {
    expect(actsOn(machine())).toEqual(['stop', 'reboot', 'terminate'])
    expect(actsOn(machine({ state: 'stopped' }))).toEqual(['start', 'terminate'])
    expect(actsOn(machine({ state: 'shutting-down' }))).toEqual([])
  })
})

it('faults are told in words', () => {
  expect(cmlTroubles({})).toEqual([])
  expect(cmlTroubles({ network: 'cut', fail_one_in: 1, session_lifetime_factor: 0.01 })).toEqual([
    'network cut',
    'answers 500',
    'tokens expire early',
  ])
  expect(cmlTroubles({ fail_one_in: 4 })).toEqual(['every 4th answer is 500'])
  const plan = { lost_answer_rate: 0.1, server_error_rate: 0, stale_read_s: 30, request_limits: true }
  expect(weatherOf({ preset: 'hostile', plan, scripted: [] })).toEqual(['10 % of answers get lost after the effect'])
  expect(scriptText({ action: 'RunInstances', times: 2, fault: 'lost_answer' })).toBe(
    'next 2 RunInstances lose their answer',
  )
  const fault = { code: 'RequestLimitExceeded', status: 503 }
  expect(scriptText({ action: 'StopInstances', times: 1, fault })).toBe(
    'next StopInstances answer 503 RequestLimitExceeded',
  )
})

it('deeds stand among decisions, the newest first', () => {
  const deed = { id: 'x', atMs: Date.parse('2026-01-02T03:04:06.000Z'), text: 'stopped' }
  const later = aDecision({ id: 'd-2', at: '2026-01-02T03:04:07.000Z' })
  const feed = feedOf([deed], [later, aDecision()])
  expect(feed.map(item => ('deed' in item ? item.deed.id : item.decision.id))).toEqual(['d-2', 'x', 'd-1'])
})

it('a call failed when it was refused or something happened to it', () => {
  const call = { at: '', region: '', action: '', instance_ids: [], attempt: null, invocation_id: null, code: null }
  expect(isFailed({ ...call, status: 200, fault: null })).toBe(false)
  expect(isFailed({ ...call, status: 200, fault: 'lost_answer' })).toBe(true)
  expect(isFailed({ ...call, status: 503, fault: null })).toBe(true)
})
