import { metricsConformance, type OpenMetrics } from '@lcm/cloud/conformance/machine-metrics'
import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { metricsFixture, plantMachines, SIM_COMPUTE_SETUP } from '../conformance/compute-and-metrics-fixtures.ts'
import { openSimModel } from '../sim-model.ts'
import { simMetrics } from './machine-metrics.ts'

metricsConformance('the model in process', async (): Promise<OpenMetrics> => {
  const clock = manualClock()
  const model = openSimModel({ seed: 7, clock })
  return {
    metrics: simMetrics(model),
    ...(await metricsFixture(model, ms => clock.advance(ms))),
    close: async () => model.close(),
  }
})

describe('the metrics of the model', () => {
  const signal = new AbortController().signal
  const opened = () => {
    const clock = manualClock()
    const model = openSimModel({ seed: 7, clock })
    plantMachines(model, 1, {})
    const id = model.machines()[0]?.instance.instance_id ?? ''
    const cpu = async () =>
      (await simMetrics(model).latest(SIM_COMPUTE_SETUP.region, [id], signal)).get(id)?.cpu_utilization ?? null
    return { clock, model, id, cpu }
  }

  it('show the load of a machine, if it is known', async () => {
    const { clock, model, id, cpu } = opened()
    await clock.advance(30 * 60_000)
    model.cloudwatch.setLoad(asked => (asked === id ? 1 : null))
    expect(await cpu()).toBeGreaterThan(0.7)
    model.cloudwatch.setLoad(() => 0)
    expect(await cpu()).toBeLessThan(0.1)
  })

  it('are rate limited and fail as CloudWatch does', async () => {
    const { model, cpu } = opened()
    model.faults.patch({ request_limits: true })
    for (let n = 0; n < 50; n++) await cpu()
    await expect(cpu()).rejects.toMatchObject({ errorClass: 'throttled' })
    model.faults.patch({ request_limits: false, server_error_rate: 1 })
    await expect(cpu()).rejects.toMatchObject({ errorClass: 'transient' })
  })
})
