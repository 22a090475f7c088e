// Serves a simulated cloud with one CML server for judges that can't start one. Says where it is on one line, and ends when
// standard input does.
import { plantMachines } from '@lcm/cloud-sim/conformance/compute-and-metrics-fixtures'
import { startSimServer } from '@lcm/cloud-sim/server/server'
import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { systemClock } from '@lcm/runtime/clock'

const SILENT = { info: () => undefined, warn: () => undefined }
/** Boots that take minutes take a second. */
const SPEED = 600
const BOOT_MS_MAX = 30_000
const POLL_MS = 20

// Addresses follow from the seed, and two of these may run at the same time.
const model = openSimModel({ seed: process.pid, clock: systemClock, speed: SPEED })
const server = await startSimServer({ model, clock: systemClock, log: SILENT })
plantMachines(model, 1, { Name: 'judged' })
const login = { username: 'admin', password: 'lablet' }
const tokens = { good_token: 'GoodTokenOfTheSmartAccount', bad_token: 'an-invalid-token' }
console.log(JSON.stringify({ url: await bootedAt(), ...login, ...tokens }))
for await (const _ of process.stdin);
await server.close()
model.close()

/** Ready for good: no change is to come, such as the reboot at the end of an installation. */
async function bootedAt(): Promise<string> {
  for (const until = systemClock.monotonic() + BOOT_MS_MAX; systemClock.monotonic() < until; ) {
    const [machine] = model.machines()
    const isSettled = machine && model.changesAtMs(machine.instance.instance_id) === null
    if (machine?.endpoint && machine.stage === 'READY' && isSettled) return machine.endpoint
    await systemClock.sleep(POLL_MS)
  }
  throw new Error('the simulated machine did not boot')
}
