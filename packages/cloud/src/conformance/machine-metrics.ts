import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MachineMetrics, NO_READING } from '../machine-metrics.ts'

/** A fresh cloud for one test, with one machine that has run for half an hour and has an agent. */
export interface OpenMetrics {
  readonly metrics: MachineMetrics
  readonly region: string
  readonly other_region: string
  readonly instance_id: string
  /** The cloud's time. */
  now(): number
  advance(ms: number): Promise<void>
  /** Stops the machine, which may take a while. */
  stop(): Promise<void>
  /** From now on no period is shown, also none that was shown before. */
  leaveOutPeriods(): Promise<void>
  /** Launches that many machines. */
  plant(count: number): Promise<readonly string[]>
  close(): Promise<void>
}

const MINUTE_MS = 60_000
const PERIOD_MS = 5 * MINUTE_MS
/** More than fit into one call. */
const FLEET_SIZE = 200

const signal = () => new AbortController().signal

/** Cases that every adapter of the metrics port must pass. */
export function metricsConformance(name: string, open: () => Promise<OpenMetrics>): void {
  describe(`metrics on ${name}`, () => {
    let cloud: OpenMetrics
    beforeEach(async () => {
      cloud = await open()
    })
    afterEach(() => cloud.close())
    const read = async (id = cloud.instance_id, region = cloud.region) =>
      (await cloud.metrics.latest(region, [id], signal())).get(id)

    it('reads every metric of a running machine', async () => {
      const { at, cpu_utilization, memory_utilization, disk_utilization, ...bytes } = (await read()) ?? NO_READING
      for (const share of [cpu_utilization, memory_utilization, disk_utilization]) {
        expect(share).toBeGreaterThan(0)
        expect(share).toBeLessThanOrEqual(1)
      }
      for (const each of Object.values(bytes)) expect(each).toBeGreaterThanOrEqual(0)
      expect(at).not.toBeNull()
    })

    it('dates a reading by the end of its period, which is one of the last three that are over', async () => {
      const atMs = Date.parse((await read())?.at ?? '')
      expect(atMs % PERIOD_MS).toBe(0)
      expect(atMs).toBeLessThanOrEqual(cloud.now())
      expect(atMs).toBeGreaterThan(cloud.now() - 3 * PERIOD_MS)
    })

    it('follows time', async () => {
      const before = Date.parse((await read())?.at ?? '')
      await cloud.advance(2 * PERIOD_MS)
      expect(Date.parse((await read())?.at ?? '')).toBe(before + 2 * PERIOD_MS)
    })

    it('has no reading for unknown machines', async () => {
      const unknown = 'i-0123456789abcdef0'
      const readings = await cloud.metrics.latest(cloud.region, [unknown, cloud.instance_id, unknown], signal())
      expect(new Set(readings.keys())).toEqual(new Set([unknown, cloud.instance_id]))
      expect(readings.get(unknown)).toEqual(NO_READING)
      expect(await read(cloud.instance_id, cloud.other_region)).toEqual(NO_READING)
      expect(await cloud.metrics.latest(cloud.region, [], signal())).toEqual(new Map())
    })

    it('drops a stopped machine after three periods, rather than call it idle', async () => {
      await cloud.stop()
      await cloud.advance(4 * PERIOD_MS + 10 * MINUTE_MS)
      expect(await read()).toEqual(NO_READING)
    })

    it('treats a gap as missing, not as zero', async () => {
      await cloud.leaveOutPeriods()
      expect(await read()).toEqual(NO_READING)
    })

    it('reads a whole fleet', async () => {
      const ids = await cloud.plant(FLEET_SIZE)
      await cloud.advance(30 * MINUTE_MS)
      const readings = await cloud.metrics.latest(cloud.region, ids, signal())
      expect(ids.filter(id => readings.get(id)?.cpu_utilization == null)).toEqual([])
      expect(readings.size).toBe(FLEET_SIZE)
    })

    it('does nothing once its signal has aborted', async () => {
      const aborted = cloud.metrics.latest(cloud.region, [cloud.instance_id], AbortSignal.abort())
      await expect(aborted).rejects.toMatchObject({ name: 'CloudError', errorClass: 'transient' })
    })
  })
}
