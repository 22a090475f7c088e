import { cmlLabsConformance } from '@lcm/cloud/conformance/cml-labs'
import type { CmlServerFixture } from '@lcm/cloud/conformance/cml-server-fixture'
import { cmlSystemConformance } from '@lcm/cloud/conformance/cml-system'
import { manualClock } from '@lcm/testkit/manual-clock'
import { cmlServerFixture } from '../conformance/cml-server-fixture.ts'
import { openSimModel } from '../sim-model.ts'
import { simCmlLabs } from './cml-labs.ts'
import { simCmlSystem } from './cml-system.ts'

async function open(): Promise<CmlServerFixture> {
  const clock = manualClock()
  const model = openSimModel({ seed: 7, clock })
  return {
    cml: simCmlSystem(model),
    labs: simCmlLabs(model, clock),
    ...cmlServerFixture(model, ms => clock.advance(ms)),
    close: async () => model.close(),
  }
}

cmlSystemConformance('the model in process', open)
cmlLabsConformance('the model in process', open)
