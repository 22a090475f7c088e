import type { CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError, type CloudErrorClass } from '@lcm/cloud/errors'
import type { MachineMetrics, MachineReading } from '@lcm/cloud/machine-metrics'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import { toInstant } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import { silentMeter } from '@lcm/runtime'
import { NO_METRICS } from '@lcm/testkit/observation-builders'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { beforeEach, describe, expect, it } from 'vitest'
import { type MetricsLoopParts, metricsLoop } from './metrics-loop.ts'
import { workerCounters } from './report.ts'
import {
  BOOTED_MS,
  OTHER_REGION,
  REGION,
  type SimulatedFleet,
  simulatedFleet,
} from './testing/simulated-cloud-and-api.ts'

const INTERVAL_MS = 60_000
const READING: MachineReading = {
  at: '2026-01-01T00:00:00.000Z',
  cpu_utilization: 0.5,
  memory_utilization: 0.25,
  disk_utilization: null,
  network_in_bytes: 1_000,
  network_out_bytes: 2_000,
  disk_read_bytes: 3_000,
  disk_write_bytes: 4_000,
}
const STATS = {
  cpu_count: 48,
  cpu_utilization: 0.125,
  memory_utilization: null,
  disk_utilization: 0.75,
  memory_total_bytes: null,
  disk_total_bytes: null,
  running_nodes: 12,
  running_orphans: 0,
}
const { cml_version: _unknown, ...NOTHING } = NO_METRICS

let fleet: SimulatedFleet
let worker: Worker
let counting: ReturnType<typeof workerCounters>
let log: ReturnType<typeof recordingLogger>
let seenNodes: [string, number | null][]
let measured: string[]
let asked: { region: string; ids: readonly string[] }[]
let stop: AbortController

const failing = (errorClass: CloudErrorClass) => () =>
  Promise.reject(new CloudError(errorClass, { code: 'Failed', action: 'GET', message: 'it failed' }))
const measuring: MachineMetrics = {
  async latest(region, ids) {
    asked.push({ region, ids })
    return new Map(ids.map(id => [id, READING]))
  },
}
const serving = (): CmlSystem => ({ ...fleet.cml, stats: async () => STATS })

function begin(more: Partial<MetricsLoopParts> = {}): Promise<void> {
  const { clock, client, logins } = fleet
  const shared = { client, clock, logins, logger: log, counters: counting, intervalMs: INTERVAL_MS }
  const lostLabs: MetricsLoopParts['lostLabs'] = {
    saw: async ({ id }, _, nodes) => seenNodes.push([id, nodes]) > 0,
  }
  const onMeasured = (of: Worker) => void measured.push(of.id)
  return metricsLoop({ ...shared, metrics: measuring, cml: serving(), lostLabs, onMeasured, ...more }).run(stop.signal)
}

async function oneCycle(more: Partial<MetricsLoopParts> = {}) {
  void begin(more)
  await fleet.clock.advance(0)
  return fleet.plane.requestsOf('reportWorkerMetrics')
}

beforeEach(async () => {
  fleet = await simulatedFleet()
  counting = workerCounters(silentMeter)
  log = recordingLogger()
  seenNodes = []
  measured = []
  asked = []
  stop = new AbortController()
  const machine = await fleet.launch()
  await fleet.clock.advance(BOOTED_MS)
  const known = await fleet.workerOn(machine)
  worker = { ...known, cml: { ...known.cml, version: '2.9.1+build.7' } }
  await fleet.plane.put('workers', worker)
})

describe('a sample', () => {
  it('joins the values of CML and of CloudWatch, in percent', async () => {
    expect(await oneCycle()).toMatchObject([
      {
        id: 'w-1',
        body: {
          collected_at: toInstant(fleet.clock.now()),
          cpu_utilization: 12.5,
          memory_utilization: 25,
          disk_utilization: 75,
          network_in_bytes: 1_000,
          network_out_bytes: 2_000,
          disk_read_bytes: 3_000,
          disk_write_bytes: 4_000,
          nodes_count: 12,
          cml_version: '2.9.1+build.7',
          system_info: { cpu_count: 48, memory_total_bytes: null, disk_total_bytes: null, running_orphans: 0 },
          system_health: { valid: true, kvm_vmx_enabled: true, enough_cpus: true },
        },
      },
    ])
    expect(seenNodes).toEqual([['w-1', 12]])
  })

  it('has the values of the simulated cloud and its servers', async () => {
    const [sample] = await oneCycle({ metrics: fleet.metrics, cml: fleet.cml })
    expect(sample?.body.network_in_bytes).toBeGreaterThan(0)
    expect(sample?.body.cpu_utilization).toBeGreaterThan(0)
    expect(sample?.body.nodes_count).toBe(0)
    expect(sample?.body.cml_version).toBe('2.9.1+build.7')
    expect(Object(sample?.body.system_info).memory_total_bytes).toBeGreaterThan(0)
  })

  it('has the version of a CML without a login', async () => {
    const [sample] = await oneCycle({ cml: { ...fleet.cml, stats: failing('auth') } })
    expect(sample?.body).toMatchObject({ cml_version: '2.9.1+build.7', system_info: null })
  })

  it('has the values of CML when CloudWatch is down', async () => {
    const [sample] = await oneCycle({ metrics: { latest: failing('transient') } })
    expect(sample?.body).toMatchObject({ cpu_utilization: 12.5, nodes_count: 12, network_in_bytes: null })
    expect(log.messages('warn')).toEqual(['CloudWatch could not be asked'])
    expect(counting.snapshot(0).metrics_collected_count).toBe(1)
  })

  it('has the values of CloudWatch when CML is down', async () => {
    const [sample] = await oneCycle({ cml: { ...fleet.cml, stats: failing('transient') } })
    expect(sample?.body).toMatchObject({ cpu_utilization: 50, nodes_count: null, system_health: null })
    expect(seenNodes).toEqual([])
  })

  it("has no health when only the health can't be read", async () => {
    const [sample] = await oneCycle({ cml: { ...serving(), health: failing('transient') } })
    expect(sample?.body).toMatchObject({ nodes_count: 12, system_health: null })
  })

  it('has the values of CML although the check for lost labs failed, but not the unjudged number of nodes', async () => {
    const saw = () => Promise.reject(new Error('the API does not answer'))
    const [sample] = await oneCycle({ lostLabs: { saw } })
    expect(sample?.body).toMatchObject({ nodes_count: null, system_health: expect.anything() })
    expect(log.messages('warn')).toEqual(['could not check for lost labs'])
  })

  it('never reports a missing value as zero', async () => {
    const down = { metrics: { latest: failing('throttled') }, cml: { ...fleet.cml, stats: failing('transient') } }
    const [sample] = await oneCycle(down)
    expect(sample?.body).toMatchObject(NOTHING)
    expect(measured).toEqual([])
  })

  it('logs an outage of CloudWatch once, and its end', async () => {
    let isDown = true
    const latest: MachineMetrics['latest'] = (...of) => (isDown ? failing('transient')() : fleet.metrics.latest(...of))
    await oneCycle({ metrics: { latest } })
    await fleet.clock.advance(5 * INTERVAL_MS)
    const messages = () => log.lines.map(({ message }) => message).filter(message => message.includes('CloudWatch'))
    expect(messages()).toEqual(['CloudWatch could not be asked'])
    isDown = false
    await fleet.clock.advance(2 * INTERVAL_MS)
    expect(messages()).toEqual(['CloudWatch could not be asked', 'CloudWatch answers again'])
  })

  it('counts once the API has accepted it with at least one value', async () => {
    await oneCycle({ metrics: { latest: failing('throttled') } })
    expect(measured).toEqual(['w-1'])
    fleet.plane.fail({ route: 'reportWorkerMetrics', effect: 'store_unavailable', times: 1 })
    await fleet.clock.advance(INTERVAL_MS)
    expect(measured).toEqual(['w-1'])
  })
})

describe('workers', () => {
  it('that do not run are left out', async () => {
    await fleet.plane.put(
      'workers',
      { ...worker, status: 'STARTING' },
      { ...worker, id: 'w-2', ec2_instance_id: 'i-2', status: 'STOPPED' },
    )
    expect(await oneCycle()).toEqual([])
    expect([asked, seenNodes]).toEqual([[], []])
    expect(counting.snapshot(0).metrics_collected_count).toBe(1)
  })

  it('that drain are measured too: their labs still run, and may stop in a restart', async () => {
    await fleet.plane.put('workers', { ...worker, status: 'DRAINING' })
    expect(await oneCycle()).toMatchObject([{ id: 'w-1', body: { nodes_count: 12 } }])
    expect(seenNodes).toEqual([['w-1', 12]])
  })

  it('without an address or a machine lack that source only', async () => {
    await fleet.record({ ...worker, https_endpoint: null })
    await fleet.recordWith({ ...worker, id: 'w-2', ec2_instance_id: null }, { login: DEFAULT_CML_LOGIN })
    const samples = await oneCycle()
    expect(samples).toMatchObject([
      { id: 'w-1', body: { cpu_utilization: 50, nodes_count: null } },
      { id: 'w-2', body: { cpu_utilization: null, network_in_bytes: null, cml_version: expect.any(String) } },
    ])
    expect(asked).toEqual([{ region: REGION, ids: [worker.ec2_instance_id] }])
    expect([seenNodes, log.messages('warn')]).toEqual([[], []])
  })

  it('that need an approval are measured by CloudWatch alone', async () => {
    await fleet.recordWith({ ...worker, launch: null }, { login: DEFAULT_CML_LOGIN })
    const cml = { ...fleet.cml, stats: async () => Promise.reject(new Error('CML was asked')) }
    const samples = await oneCycle({ cml })
    expect(samples).toMatchObject([{ body: { cpu_utilization: 50, nodes_count: null, cml_version: null } }])
    expect(seenNodes).toEqual([])
  })

  it('of a region share one request, and a failing region affects no other', async () => {
    const far = { ...worker, id: 'w-2', ec2_instance_id: 'i-far', aws_region: OTHER_REGION }
    await fleet.plane.put('workers', far, { ...worker, id: 'w-3', ec2_instance_id: 'i-0000000000000000f' })
    const latest: MachineMetrics['latest'] = (region, ids, signal) =>
      measuring.latest(region, ids, signal).then(region === OTHER_REGION ? failing('auth') : all => all)
    const samples = await oneCycle({ metrics: { latest } })
    expect(asked).toEqual([
      { region: REGION, ids: [worker.ec2_instance_id, 'i-0000000000000000f'] },
      { region: OTHER_REGION, ids: ['i-far'] },
    ])
    expect(samples.map(({ id, body }) => [id, body.network_in_bytes])).toEqual([
      ['w-1', 1_000],
      ['w-2', null],
      ['w-3', 1_000],
    ])
  })

  it.each<[string, () => unknown]>([
    [
      'has a CML that does not answer',
      () => fleet.plane.put('workers', { ...worker, https_endpoint: 'https://127.64.99.99' }),
    ],
    [
      "has credentials that the API can't decrypt",
      async () => {
        await fleet.plane.put('workers', { ...worker, secret_refs: { cml_login: 's-1' } })
        fleet.plane.fail({ route: 'getWorkerSecrets', effect: 'internal_error', times: 1 })
      },
    ],
    [
      'has a sample that the API refuses',
      () => fleet.plane.fail({ route: 'reportWorkerMetrics', effect: 'store_unavailable', times: 1 }),
    ],
  ])('are measured although one of them %s', async (_, happens) => {
    await happens()
    await fleet.plane.put('workers', { ...worker, id: 'w-2', ec2_instance_id: 'i-2' })
    const samples = await oneCycle({ cml: fleet.cml })
    expect(samples.map(({ id }) => id).sort()).toEqual(['w-1', 'w-2'])
    const other = samples.find(({ id }) => id === 'w-2')
    expect(other?.body).toMatchObject({ nodes_count: 0, network_in_bytes: 1_000 })
    expect(counting.snapshot(0).metrics_collected_count).toBe(1)
  })

  it('that are deleted meanwhile cause no error', async () => {
    fleet.plane.beforeRequest(async ({ route }) => {
      if (route === 'reportWorkerMetrics') await fleet.plane.remove('workers', 'w-1')
    })
    await oneCycle()
    expect(log.messages('warn')).toEqual([])
  })

  it('are read fifty at a time, with one request to CloudWatch, when there are a thousand', async () => {
    const workers = Array.from({ length: 1_000 }, (_, n) => ({ ...worker, id: `w-${n}`, ec2_instance_id: `i-${n}` }))
    await fleet.plane.put('workers', ...workers)
    let busy = 0
    let busiest = 0
    const stats: CmlSystem['stats'] = async () => {
      busy += 1
      busiest = Math.max(busiest, busy)
      await fleet.clock.sleep(1_000)
      busy -= 1
      return STATS
    }
    await oneCycle({ cml: { ...fleet.cml, stats } })
    await fleet.clock.advance(20_000)
    expect(fleet.plane.requestsOf('reportWorkerMetrics')).toHaveLength(1_000)
    expect([busiest, asked.length, asked[0]?.ids.length]).toEqual([50, 1, 1_000])
  })
})

describe('the cycle', () => {
  it('repeats every minute, however long a collection takes', async () => {
    const stats: CmlSystem['stats'] = async () => {
      await fleet.clock.sleep(20_000)
      return STATS
    }
    void begin({ cml: { ...fleet.cml, stats } })
    await fleet.clock.advance(2 * INTERVAL_MS + 20_000)
    expect(asked).toHaveLength(3)
    expect(counting.snapshot(0).metrics_collected_count).toBe(3)
  })

  it('is not counted while the API is down, and repeats', async () => {
    fleet.plane.fail({ effect: 'unreachable' })
    await oneCycle()
    expect(counting.snapshot(0).metrics_collected_count).toBe(0)
    expect(log.messages('warn')).toEqual(['could not collect metrics'])
    fleet.plane.heal()
    await fleet.clock.advance(INTERVAL_MS)
    expect(counting.snapshot(0).metrics_collected_count).toBe(1)
  })

  it('ends on abort, without a log line and without being counted', async () => {
    for (let n = 0; n < 60; n += 1)
      await fleet.plane.put('workers', { ...worker, id: `w-${n}`, ec2_instance_id: `i-${n}` })
    const stats: CmlSystem['stats'] = async () => {
      await fleet.clock.sleep(1_000)
      return STATS
    }
    const ended = begin({ cml: { ...fleet.cml, stats } })
    await fleet.clock.advance(500)
    stop.abort()
    await fleet.clock.advance(500)
    await ended
    expect(fleet.plane.requestsOf('reportWorkerMetrics')).toEqual([])
    expect(counting.snapshot(0).metrics_collected_count).toBe(0)
    expect([log.lines, fleet.clock.timersLeft()]).toEqual([[], 0])
  })
})
