import { plantMachines } from '@lcm/cloud-sim/conformance/sim-fixtures'
import { openSimModel } from '@lcm/cloud-sim/model'
import { startSimServer } from '@lcm/cloud-sim/server/server'
import { silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'

export interface OneCml {
  readonly endpoint: string
  readonly certificate_sha256: string
  close(): Promise<void>
}

/** A booted CML server in a separate simulated cloud. */
export async function serveOneCml(): Promise<OneCml> {
  // The address depends on the seed, which must be unique per bench.
  const model = openSimModel({ seed: process.pid, clock: systemClock, speed: 36_000 })
  plantMachines(model, 1, {})
  const id = model.machines()[0]?.instance.instance_id ?? ''
  const server = await startSimServer({ model, clock: systemClock, log: silentLogger, addressing: 'ports' })
  while (model.machine(id)?.stage !== 'READY') await systemClock.sleep(20)
  return {
    endpoint: model.machine(id)?.endpoint ?? '',
    certificate_sha256: model.cml.fingerprintOf(id) ?? '',
    async close() {
      await server.close()
      model.close()
    },
  }
}
