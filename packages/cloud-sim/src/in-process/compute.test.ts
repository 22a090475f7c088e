import { computeConformance, type OpenCompute } from '@lcm/cloud/conformance/compute'
import { manualClock } from '@lcm/testkit/manual-clock'
import { plantMachines, SIM_COMPUTE_SETUP } from '../conformance/compute-and-metrics-fixtures.ts'
import { openSimModel } from '../sim-model.ts'
import { simCompute } from './compute.ts'

computeConformance('the model in process', async (): Promise<OpenCompute> => {
  const clock = manualClock()
  const model = openSimModel({ seed: 7, clock })
  return {
    compute: simCompute(model),
    place: SIM_COMPUTE_SETUP,
    advance: ms => clock.advance(ms),
    plant: async (count, tags) => plantMachines(model, count, tags),
    close: async () => model.close(),
  }
})
