import { aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { agrees, cmlTroubles, nameOf, pairsOf, scriptText } from './sim-worker-pairs.ts'
import { aSimMachine as machine } from './testing/a-sim-machine.ts'

const worker = aWorker({ id: 'w-1', name: 'metal-1', status: 'RUNNING', ec2_instance_id: 'i-1' })

describe('machines and workers', () => {
  it('are paired by their id, without machines that are terminated as expected', () => {
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

  it('differ after a manual change', () => {
    expect(agrees({ machine: machine({ state: 'stopped' }), worker })).toBe(false)
    expect(agrees({ machine: machine({ state: 'stopped' }), worker: { ...worker, status: 'STARTING' } })).toBe(true)
  })
})

it('describes faults', () => {
  expect(cmlTroubles({})).toEqual([])
  expect(cmlTroubles({ network: 'cut', fail_one_in: 1, session_lifetime_factor: 0.01 })).toEqual([
    'network cut',
    'answers 500',
    'tokens expire early',
  ])
  expect(cmlTroubles({ fail_one_in: 4 })).toEqual(['1 answer in 4 is 500'])
  expect(scriptText({ action: 'RunInstances', times: 2, fault: 'lost_answer' })).toBe(
    'next 2 RunInstances lose their answer',
  )
  const fault = { code: 'RequestLimitExceeded', status: 503 }
  expect(scriptText({ action: 'StopInstances', times: 1, fault })).toBe(
    'next StopInstances answer 503 RequestLimitExceeded',
  )
})
