/** The newest complete point of each metric of one machine. A missing metric is null, never 0. */
export interface MachineReading {
  /** End of the newest period with any metric. */
  readonly at: string | null
  /** Utilizations between 0 and 1. Memory and disk need an agent on the machine. */
  readonly cpu_utilization: number | null
  readonly memory_utilization: number | null
  readonly disk_utilization: number | null
  /** Bytes within the period of five minutes. */
  readonly network_in_bytes: number | null
  readonly network_out_bytes: number | null
  readonly disk_read_bytes: number | null
  readonly disk_write_bytes: number | null
}

export const NO_READING: MachineReading = {
  at: null,
  cpu_utilization: null,
  memory_utilization: null,
  disk_utilization: null,
  network_in_bytes: null,
  network_out_bytes: null,
  disk_read_bytes: null,
  disk_write_bytes: null,
}

/** Metrics of machines as the cloud measures them. Every failure is a CloudError. */
export interface MachineMetrics {
  /** Has an entry for every requested machine, also for unknown ones. */
  latest(
    region: string,
    instanceIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, MachineReading>>
}
