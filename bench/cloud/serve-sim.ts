import { plant, SIM_PLACE } from '@lcm/cloud-sim/conformance/place'
import { openSimModel } from '@lcm/cloud-sim/model'
import { startSimServer } from '@lcm/cloud-sim/server'
import { silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'

/** The simulated EC2 with a fleet, as a process of its own: `serve-sim COUNT`. Says where it listens once the fleet is there. */
const [, , count = '0'] = process.argv
const PER_LAUNCH = 500
/** As many as people put on their machines. */
const TAGS = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`tag-${n}`, `the value of tag ${n}`]))

const model = openSimModel({ seed: 7, clock: systemClock, speed: 3600 })
for (let planted = 0; planted < Number(count); planted += PER_LAUNCH) {
  plant(model, Math.min(PER_LAUNCH, Number(count) - planted), { ...TAGS, 'lcm:fleet': 'bench' })
}
const server = await startSimServer({ model, clock: systemClock, log: silentLogger, cml: 'off' })
process.once('disconnect', async () => {
  await server.close()
  model.close()
})
process.send?.({ url: server.url, region: SIM_PLACE.region })
