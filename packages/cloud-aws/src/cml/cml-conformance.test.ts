import { cmlLabsConformance } from '@lcm/cloud/conformance/cml-labs'
import type { CmlServerFixture } from '@lcm/cloud/conformance/cml-server-fixture'
import { cmlSystemConformance } from '@lcm/cloud/conformance/cml-system'
import { cmlServerFixture } from '@lcm/cloud-sim/conformance/cml-server-fixture'
import { type SimServer, startSimServer } from '@lcm/cloud-sim/server/server'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/sim-model'
import { systemClock } from '@lcm/runtime/clock'
import { manualClock } from '@lcm/testkit/manual-clock'
import { cmlLabsClient } from './cml-labs.ts'
import { cmlSystemClient } from './cml-system.ts'

const SILENT = { info: () => undefined, warn: () => undefined }
const ROUNDS_MAX = 10_000

/** Opening and closing a port takes a few iterations of the event loop. */
async function portsFollow(server: SimServer, model: SimModel, advance: () => Promise<void>): Promise<void> {
  const wanted = JSON.stringify(model.machines().map(machine => machine.stage !== 'NOTHING'))
  for (let count = 0; count < ROUNDS_MAX; count++) {
    const { body } = server.control.handle({ method: 'GET', url: '/sim/v1/instances' })
    const served = 'items' in body && Array.isArray(body.items) ? body.items.map(item => item.served) : []
    if (JSON.stringify(served) === wanted) return
    await advance()
  }
  throw new Error('the ports did not follow the machines')
}

async function open(): Promise<CmlServerFixture> {
  const clock = manualClock()
  // Another run on this machine must not use the same addresses.
  const model = openSimModel({ seed: process.pid, clock })
  const server = await startSimServer({ model, clock, log: SILENT })
  const cml = cmlSystemClient({ clock: systemClock })
  const labs = cmlLabsClient({ clock: systemClock })
  const advance = async (ms: number) => {
    await clock.advance(ms)
    await portsFollow(server, model, () => clock.advance(0))
  }
  return {
    cml,
    labs,
    ...cmlServerFixture(model, advance),
    async close() {
      await Promise.all([cml.close(), labs.close()])
      await server.close()
      model.close()
    },
  }
}

cmlSystemConformance('undici over TLS', open)
cmlLabsConformance('undici over TLS', open)
