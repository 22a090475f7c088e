import type { WorkerSample, WorkerView } from '@lcm/contract/worker'
import { toInstant } from '@lcm/domain/instant'
import { costOf } from '@lcm/domain/worker/cost'
import type { Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import type { Sample } from '@lcm/store/store'
import type { ApiParts } from '../../api-dependencies.ts'

/** Name of the series that counts the labs of a worker. It is no part of the worker, so that a list joins it in one query. */
export const labCountSeries = (workerId: string): string => `labs:${workerId}`

/** Null when there is no recent count. */
export const labCountOf = (sample: Sample | undefined): number | null =>
  sample !== undefined && 'count' in sample.body ? Number(sample.body.count) : null

/** Samples are validated when they are reported. */
export const sampleOf = (sample: Sample): WorkerSample => sample.body as WorkerSample

/** A worker with metrics, lab count and cost, which are joined when it is read and never stored with it. */
export async function workerView(
  { store, clock }: Pick<ApiParts, 'store' | 'clock'>,
  worker: Worker,
): Promise<WorkerView> {
  const newest = await store.series.newest([`worker:${worker.id}`, labCountSeries(worker.id)])
  return {
    ...worker,
    health: workerHealth(worker),
    ...metricsOf(newest.get(`worker:${worker.id}`)),
    labs_count: labCountOf(newest.get(labCountSeries(worker.id))),
    cost: costOf(worker, toInstant(clock.now())),
  }
}

export function metricsOf(
  newest: Sample | undefined,
): Omit<WorkerView, keyof Worker | 'cost' | 'labs_count' | 'health'> {
  const sample = newest === undefined ? null : sampleOf(newest)
  return {
    nodes_count: sample?.nodes_count ?? null,
    utilization: sample && {
      cpu: sample.cpu_utilization,
      memory: sample.memory_utilization,
      disk: sample.disk_utilization,
      at: sample.collected_at,
    },
    system_health: sample?.system_health ?? null,
  }
}
