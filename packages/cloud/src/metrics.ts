/** The newest complete point of each measure of one machine. What was not measured is null, never 0. */
export interface MachineReading {
  /** The end of the newest period that anything was measured in. */
  readonly at: string | null
  /** Shares between 0 and 1. Memory and disk need an agent on the machine. */
  readonly cpu_utilization: number | null
  readonly memory_utilization: number | null
  readonly disk_utilization: number | null
  /** Bytes within the period of five minutes. */
  readonly network_in_bytes: number | null
  readonly network_out_bytes: number | null
  readonly disk_read_bytes: number | null
  readonly disk_write_bytes: number | null
}

export const NOTHING_MEASURED: MachineReading = {
  at: null,
  cpu_utilization: null,
  memory_utilization: null,
  disk_utilization: null,
  network_in_bytes: null,
  network_out_bytes: null,
  disk_read_bytes: null,
  disk_write_bytes: null,
}

/** What the cloud measures of machines from outside. Every failure is a CloudError. */
export interface MachineMetrics {
  /** Every machine that was asked for is in the answer, also one that nothing is known of. */
  latest(
    region: string,
    instanceIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, MachineReading>>
}
