import { cmlSystemConformance, type OpenCmlSystem } from '@lcm/cloud/conformance/cml-system'
import { manualClock } from '@lcm/testkit/manual-clock'
import { machineToProbe } from '../conformance/place.ts'
import { openSimModel } from '../model.ts'
import { simCmlSystem } from './cml-system.ts'

cmlSystemConformance('the model in process', async (): Promise<OpenCmlSystem> => {
  const clock = manualClock()
  const model = openSimModel({ seed: 7, clock })
  return {
    cml: simCmlSystem(model),
    ...machineToProbe(model, ms => clock.advance(ms)),
    close: async () => model.close(),
  }
})
