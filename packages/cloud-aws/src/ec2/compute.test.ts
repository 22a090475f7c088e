import { computeConformance, type OpenCompute } from '@lcm/cloud/conformance/compute'
import { plantMachines, SIM_COMPUTE_SETUP } from '@lcm/cloud-sim/conformance/compute-and-metrics-fixtures'
import { startSimServer } from '@lcm/cloud-sim/server/server'
import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { systemClock } from '@lcm/runtime/clock'
import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import type { AwsCall } from '../aws-clients.ts'
import { awsCompute } from './compute.ts'

const CREDENTIALS = { accessKeyId: 'AKIDSIMULATED', secretAccessKey: 'none' }
const SILENT = { info: () => undefined, warn: () => undefined }
const signal = () => new AbortController().signal

/** The real SDK over real HTTP; only the simulated time is controlled by the test. */
async function openWire(onCall?: (call: AwsCall) => void) {
  const clock = manualClock()
  const model = openSimModel({ seed: 7, clock })
  const server = await startSimServer({ model, clock, log: SILENT, cml: 'off' })
  const options = { endpoint: server.url, credentials: CREDENTIALS, clock: systemClock }
  const compute = awsCompute(onCall ? { ...options, onCall } : options)
  return {
    clock,
    model,
    compute,
    async close() {
      compute.close()
      await server.close()
      model.close()
    },
  }
}

computeConformance('the AWS SDK over HTTP', async (): Promise<OpenCompute> => {
  const { clock, model, compute, close } = await openWire()
  return {
    compute,
    place: SIM_COMPUTE_SETUP,
    advance: ms => clock.advance(ms),
    plant: async (count, tags) => plantMachines(model, count, tags),
    close,
  }
})

describe('the AWS adapter', () => {
  it('reports every attempt with its outcome', async () => {
    const calls: AwsCall[] = []
    const { compute, close } = await openWire(call => calls.push(call))
    await compute.list('us-west-2', { client_token: 'none' }, signal())
    const terminating = compute.power('us-west-2', 'terminate', ['i-0123456789abcdef0'], signal())
    await expect(terminating).rejects.toMatchObject({ errorClass: 'not_found' })
    await close()
    expect(calls).toMatchObject([
      { region: 'us-west-2', action: 'DescribeInstances', status: 200, code: null },
      { region: 'us-west-2', action: 'TerminateInstances', status: 400, code: 'InvalidInstanceID.NotFound' },
    ])
    expect(calls.every(call => call.ms >= 0)).toBe(true)
  })
})
