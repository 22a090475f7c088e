import type { ComputeSetup } from '@lcm/cloud/conformance/compute'
import type { SimModel } from '../sim-model.ts'

/** Setup of the simulated cloud for the compute suite. */
export const SIM_COMPUTE_SETUP: ComputeSetup = {
  region: 'us-east-1',
  other_region: 'eu-west-1',
  subnet_id: 'subnet-use1a',
  other_subnet_id: 'subnet-use1b',
  instance_type: 'm5zn.metal',
  not_offered: { instance_type: 'm5zn.metal', subnet_id: 'subnet-use1c' },
  images: { name_pattern: 'cml-2.9.1-*', owner: 'self' },
  newest_image: { name: 'cml-2.9.1-20251104', created_at: '2025-11-04T09:00:00.000Z' },
}

/** Launches many machines in one call of EC2. */
export function plantMachines(model: SimModel, count: number, tags: Readonly<Record<string, string>>): void {
  const { region, subnet_id, instance_type, images } = SIM_COMPUTE_SETUP
  const filters = [{ name: 'name', values: [images.name_pattern] }]
  const query = { image_ids: [], owners: [images.owner], filters, max_results: null, next_token: null }
  const image_id = model.ec2.describeImages(region, query).items[0]?.image_id ?? ''
  const request = { image_id, instance_type, subnet_id, client_token: null, nested_virtualization: false }
  model.ec2.runInstances(region, { ...request, count, tags, canonical: '' })
}

/** One machine to probe: advances the model's clock from change to change. */
export function machineToProbe(model: SimModel, advance: (ms: number) => Promise<void>) {
  plantMachines(model, 1, {})
  const id = model.machines().at(-1)?.instance.instance_id ?? ''
  const toNextChange = async (): Promise<boolean> => {
    const at = model.changesAtMs(id)
    if (at === null) return false
    await advance(at - model.now())
    return true
  }
  const act = (name: 'stopInstances' | 'startInstances') =>
    model.ec2[name](SIM_COMPUTE_SETUP.region, { ids: [id], force: false })
  return {
    id,
    endpoint: () => model.machine(id)?.endpoint ?? null,
    toNextChange,
    async restart() {
      act('stopInstances')
      await toNextChange()
      act('startInstances')
      await toNextChange()
    },
  }
}

/** One machine that has run for half an hour, and the operations that the metrics suite needs. */
export async function metricsFixture(model: SimModel, advance: (ms: number) => Promise<void>) {
  const { region, other_region } = SIM_COMPUTE_SETUP
  plantMachines(model, 1, {})
  const instance_id = model.machines()[0]?.instance.instance_id ?? ''
  await advance(32 * 60_000)
  return {
    region,
    other_region,
    instance_id,
    now: () => model.now(),
    advance,
    async stop() {
      model.ec2.stopInstances(region, { ids: [instance_id], force: false })
    },
    async leaveOutPeriods() {
      model.faults.patch({ metric_gap_rate: 1 })
    },
    async plant(count: number) {
      plantMachines(model, count, {})
      return model
        .machines()
        .flatMap(({ instance }) => (instance.instance_id === instance_id ? [] : [instance.instance_id]))
    },
  }
}
