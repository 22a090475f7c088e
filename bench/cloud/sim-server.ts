import { plantMachines, SIM_COMPUTE_SETUP } from '@lcm/cloud-sim/conformance/compute-and-metrics-fixtures'
import { startSimServer } from '@lcm/cloud-sim/server/server'
import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'

/**
 * The simulated EC2 with a fleet in a process: `serve-sim COUNT [cml]`. Prints its address once the fleet exists. Ten thousand
 * CML servers would dominate the load, so there is none, or one that all machines share.
 */
const [, , count = '0', cml] = process.argv
const PER_LAUNCH = 500
/** A typical number of tags. */
const TAGS = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`tag-${n}`, `the value of tag ${n}`]))

export interface ServedSim {
  readonly url: string
  readonly region: string
  /** Endpoint of the shared CML. */
  readonly certificate_sha256: string | null
}

const oneCml: OneCml | null = cml === 'cml' ? await serveOneCml() : null
const tags = { ...TAGS, 'lcm:fleet': 'bench', ...(oneCml === null ? {} : { 'cml-endpoint': oneCml.endpoint }) }
const model = openSimModel({ seed: 7, clock: systemClock, speed: 3600 })
// A machine may use only its own address as CML endpoint, so all machines share the address of the CML.
if (oneCml !== null) model.setAddressing('ports')
for (let planted = 0; planted < Number(count); planted += PER_LAUNCH)
  plantMachines(model, Math.min(PER_LAUNCH, Number(count) - planted), tags)
const server = await startSimServer({ model, clock: systemClock, log: silentLogger, cml: 'off' })
process.once('disconnect', async () => {
  await Promise.all([server.close(), oneCml?.close()])
  model.close()
})
const served: ServedSim = {
  url: server.url,
  region: SIM_COMPUTE_SETUP.region,
  certificate_sha256: oneCml?.certificate_sha256 ?? null,
}
process.send?.(served)

interface OneCml {
  readonly endpoint: string
  readonly certificate_sha256: string
  close(): Promise<void>
}

/** A booted CML server in a separate simulated cloud. */
async function serveOneCml(): Promise<OneCml> {
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
