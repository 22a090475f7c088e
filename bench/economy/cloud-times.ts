import type { MachineModel } from '@lcm/domain/economy/machine-model'
import type { SeededRandom } from '@lcm/testkit/seeded-random'
import { aTemplate } from '@lcm/testkit/test-data-builders'
import { LABS, type LabSize, MINUTE_MS } from './trace.ts'

const BOOT = { medianMs: 9 * MINUTE_MS, sigma: 0.3, leastMs: 5 * MINUTE_MS, mostMs: 20 * MINUTE_MS } as const
export const FIRST_BOOT_MS = 3 * MINUTE_MS
export const STOP_MS = 5 * MINUTE_MS
export const TEARDOWN_MS = { least: MINUTE_MS, most: 2 * MINUTE_MS } as const

export const TEMPLATE = aTemplate({
  name: 'metal',
  capacity: { cpu_cores: 48, memory_gb: 184, storage_gb: 200, max_nodes: 200 },
  cost_per_hour_usd: 3.9641,
})

/** `boot_ms` is the mean of the boots that `bootMs` draws. */
export const MACHINE: MachineModel = {
  capacity: TEMPLATE.capacity,
  usd_per_hour: TEMPLATE.cost_per_hour_usd,
  boot_ms: 9.49 * MINUTE_MS,
  first_boot_ms: FIRST_BOOT_MS,
  stop_ms: STOP_MS,
}

/** Log-normal between the limits: from the start of the machine until CML serves. */
export function bootMs(random: SeededRandom): number {
  for (;;) {
    const ms = BOOT.medianMs * Math.exp(BOOT.sigma * gaussian(random))
    if (ms >= BOOT.leastMs && ms <= BOOT.mostMs) return ms
  }
}

/** By Box and Muller. */
const gaussian = (random: SeededRandom): number =>
  Math.sqrt(-2 * Math.log(1 - random.float())) * Math.cos(2 * Math.PI * random.float())

/** From the start of a lab until it is READY. */
export const labStartMs = (random: SeededRandom, lab: LabSize): number =>
  LABS[lab].startMs * (0.9 + 0.2 * random.float())

export const teardownMs = (random: SeededRandom): number =>
  TEARDOWN_MS.least + (TEARDOWN_MS.most - TEARDOWN_MS.least) * random.float()
