import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { plantMachines, SIM_COMPUTE_SETUP } from '../conformance/compute-and-metrics-fixtures.ts'
import { simCompute } from '../in-process/compute.ts'
import { openSimModel } from '../sim-model.ts'
import { faultyCompute } from './faulty-compute.ts'

const signal = new AbortController().signal

function open() {
  const clock = manualClock()
  const model = openSimModel({ seed: 7, clock })
  plantMachines(model, 1, { a: 'b' })
  clock.jumpWallClock(600_000)
  const [machine] = model.machines()
  const id = machine?.instance.instance_id ?? ''
  const compute = faultyCompute(simCompute(model), model)
  const stop = () => compute.power(SIM_COMPUTE_SETUP.region, 'stop', [id], signal)
  return { model, compute, stop, state: () => model.machine(id)?.state }
}

describe('a faulty compute', () => {
  it('passes calls through while no fault occurs', async () => {
    const { compute, stop } = open()
    expect(await compute).toBe(compute)
    expect(await compute.list(SIM_COMPUTE_SETUP.region, { tags: { a: 'b' } }, signal)).toHaveLength(1)
    expect([...(await stop()).values()]).toEqual(['stopping'])
  })

  it('loses responses after their effect', async () => {
    const { model, stop, state } = open()
    model.faults.patch({ lost_answer_rate: 1 })
    await expect(stop()).rejects.toMatchObject({ name: 'CloudError', errorClass: 'transient', code: 'ECONNRESET' })
    expect(state()).toBe('stopping')
  })

  it('loses calls before their effect', async () => {
    const { model, stop, state } = open()
    model.faults.patch({ lost_request_rate: 1 })
    await expect(stop()).rejects.toMatchObject({ errorClass: 'transient' })
    expect(state()).toBe('running')
  })

  it('applies scripted faults', async () => {
    const { model, compute } = open()
    const capacity = { code: 'InsufficientInstanceCapacity', status: 500, message: 'none left' }
    model.faults.script({ action: 'DescribeInstances', times: 1, fault: capacity })
    const list = () => compute.list(SIM_COMPUTE_SETUP.region, { tags: { a: 'b' } }, signal)
    await expect(list()).rejects.toMatchObject({ errorClass: 'capacity' })
    expect(await list()).toHaveLength(1)
  })
})
