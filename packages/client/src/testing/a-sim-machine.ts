import type { SimMachine } from '../sim-client.ts'

/** A running machine whose CML is ready. */
export const aSimMachine = (changes: Partial<SimMachine> = {}): SimMachine => ({
  instance_id: 'i-1',
  region: 'us-east-1',
  availability_zone: 'us-east-1a',
  instance_type: 'm5zn.metal',
  state: 'running',
  stage: 'READY',
  served: true,
  retires_at: null,
  tags: {},
  cml_faults: {},
  ...changes,
})
