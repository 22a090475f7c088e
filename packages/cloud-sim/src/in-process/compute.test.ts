import { computeConformance, type OpenCompute } from '@lcm/cloud/conformance/compute'
import { manualClock } from '@lcm/testkit/manual-clock'
import { plant, SIM_PLACE } from '../conformance/place.ts'
import { openSimModel } from '../model.ts'
import { simCompute } from './compute.ts'

computeConformance('the model in process', async (): Promise<OpenCompute> => {
  const clock = manualClock()
  const model = openSimModel({ seed: 7, clock })
  return {
    compute: simCompute(model),
    place: SIM_PLACE,
    advance: ms => clock.advance(ms),
    plant: async (count, tags) => plant(model, count, tags),
    close: async () => model.close(),
  }
})
