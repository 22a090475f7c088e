import type { Instance } from '@lcm/domain/worker/ec2-instance'
import type { Ec2Observation, LicenseObservation, Observation } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import { anAttempt, anInstance, aWorker } from './test-data-builders.ts'

/** A running worker, recorded exactly as `anInstance` shows its machine: an observation finds nothing to do. */
export const onMachine = (more: Partial<Worker> = {}): Worker =>
  aWorker({
    status: 'RUNNING',
    service_status: 'AVAILABLE',
    ec2_instance_id: 'i-1',
    launch: anAttempt(),
    instance_type: 'm5zn.metal',
    ami_id: 'ami-1',
    availability_zone: 'us-east-1a',
    public_ip: '127.64.0.1',
    private_ip: '127.64.0.1',
    https_endpoint: 'https://127.64.0.1',
    ...more,
  })

export const anEc2Observation = (more: Partial<Instance> = {}): Ec2Observation => ({
  kind: 'instance',
  instance: anInstance(more),
})

/** A registered server without further fields. */
export const aLicenseObservation = (
  more: Partial<Extract<LicenseObservation, { kind: 'seen' }>> = {},
): Extract<LicenseObservation, { kind: 'seen' }> => ({
  kind: 'seen',
  registration: 'COMPLETED',
  authorization: 'IN_COMPLIANCE',
  failure: null,
  udi: 'udi-1',
  hostname: null,
  product: null,
  ...more,
})

/** An observation of a running machine only. */
export const anObservation = (more: Partial<Observation> = {}): Observation => ({
  ec2: anEc2Observation(),
  cml: null,
  license: null,
  isReturnHeard: false,
  launch: null,
  isSurveyDue: false,
  nodeDefinitions: null,
  metricsSilentSince: null,
  tagPauseMs: 0,
  access: {},
  lostLabs: null,
  ...more,
})

/** An empty observation of a worker's load. */
export const NO_METRICS = {
  cpu_utilization: null,
  memory_utilization: null,
  disk_utilization: null,
  network_in_bytes: null,
  network_out_bytes: null,
  disk_read_bytes: null,
  disk_write_bytes: null,
  nodes_count: null,
  cml_version: null,
  system_info: null,
  system_health: null,
} as const
