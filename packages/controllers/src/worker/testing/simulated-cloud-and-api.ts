import type { Client } from '@lcm/client/client'
import { type CmlAccessTracker, cmlAccessTracker } from '@lcm/cloud/cml-access-tracker'
import type { CmlLoginResolver } from '@lcm/cloud/cml-login-resolver'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import { type BatchedCompute, batchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import type { MachineMetrics } from '@lcm/cloud/machine-metrics'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import { simCmlSystem } from '@lcm/cloud-sim/in-process/cml-system'
import { simCompute } from '@lcm/cloud-sim/in-process/compute'
import { simMetrics } from '@lcm/cloud-sim/in-process/machine-metrics'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/sim-model'
import { endpointOf, factsOf } from '@lcm/domain/worker/cml-endpoint'
import { type Instance, TAG } from '@lcm/domain/worker/ec2-instance'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { type Worker, withChanges } from '@lcm/domain/worker/worker'
import { silentLogger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { type AControlPlane, aControlPlane } from '@lcm/testkit/a-control-plane'
import type { ManualClock } from '@lcm/testkit/manual-clock'
import { anAttempt, aWorker, someLaunchParameters } from '@lcm/testkit/test-data-builders'
import { outages } from '../../kit/dependency-outages.ts'
import { cmlLogins } from '../cml-logins.ts'
import { WORKER_CONTROLLER_DEFAULTS, type WorkerControllerConfig } from '../config.ts'
import { type Ec2Outages, ec2Outages } from '../ec2-circuit-breaker.ts'

export const FLEET = 'fleet-1'
export const REGION = 'us-east-1'
export const OTHER_REGION = 'eu-west-1'
const SUBNETS: Readonly<Record<string, string>> = { [REGION]: 'subnet-use1a', [OTHER_REGION]: 'subnet-euw1a' }
/** Longer than any simulated machine boots. */
export const BOOTED_MS = 40 * 60_000
export const never = new AbortController().signal

const regionOf = (region: string) => ({
  security_group_ids: [],
  subnets: [SUBNETS[region] ?? ''],
  key_name: null,
  default_tags: {},
})

export const aConfig = (more: Partial<WorkerControllerConfig> = {}): WorkerControllerConfig => ({
  ...WORKER_CONTROLLER_DEFAULTS,
  fleet: FLEET,
  regions: { [REGION]: regionOf(REGION), [OTHER_REGION]: regionOf(OTHER_REGION) },
  policy: { ...WORKER_POLICY, fleet: FLEET },
  cmlDefaults: { ...DEFAULT_CML_LOGIN },
  ...more,
})

/** A simulated cloud on a manual clock, with the real API beside it. */
export interface SimulatedFleet {
  readonly clock: ManualClock
  readonly model: SimModel
  readonly compute: Compute
  readonly machines: BatchedCompute
  readonly reads: Ec2Outages
  readonly cml: CmlSystem
  readonly metrics: MachineMetrics
  readonly plane: AControlPlane
  /** The API as the worker-controller sees it. */
  readonly client: Client
  readonly logins: CmlLoginResolver
  readonly access: CmlAccessTracker
  launch(more?: { region?: string; tags?: Readonly<Record<string, string>>; token?: string }): Promise<Instance>
  see(instance: Instance, region?: string): Promise<Instance>
  /** The record of a machine as it is now, running and answering. */
  workerOn(instance: Instance, more?: Partial<Worker>): Promise<Worker>
  /** Writes the record, keeps the secrets that it has there, and returns it as it is stored. */
  record(worker: Worker): Promise<Worker>
  /** Writes the record after operators have set these of its secrets. */
  recordWith(worker: Worker, secrets: { license?: string; login?: typeof DEFAULT_CML_LOGIN }): Promise<Worker>
  /** Sets it as an operator of that server. */
  setServer(instance: Instance, more: { opt_in?: boolean; faults?: object }): void
}

/** Reads without probes: no outage lasts long here. */
export const someReads = (clock: Clock) =>
  ec2Outages({ clock, outages: outages({ clock, logger: silentLogger }), wake: () => undefined })

/** The term that is registered at the API. */
export const EPOCH = 3

/** Without an epoch no term is registered: a controller with an election registers its own. */
export async function simulatedFleet({ epoch = EPOCH }: { epoch?: number | null } = {}): Promise<SimulatedFleet> {
  const plane = aControlPlane()
  const { clock } = plane
  const client = plane.client('worker-controller')
  if (epoch !== null) await plane.registerTerm('worker-controller', epoch)
  const model = openSimModel({ seed: 5, clock })
  const compute = simCompute(model)
  let launches = 0

  async function launch({ region = REGION, tags = {}, token }: Parameters<SimulatedFleet['launch']>[0] = {}) {
    launches += 1
    const image = await compute.newestImage(region, { name_pattern: 'cml-2.9.1-*', owner: 'self' }, never)
    const place = { image_id: image?.image_id ?? '', subnet_id: SUBNETS[region] ?? '' }
    const client_token = token ?? `launch-${launches}`
    return compute.launch(
      region,
      { client_token, parameters: someLaunchParameters({ ...place, tags }), user_data: null },
      never,
    )
  }

  async function see({ instance_id }: Instance, region = REGION): Promise<Instance> {
    const [found] = (await compute.describe(region, [instance_id], never)).found
    if (found === undefined) throw new Error(`there is no ${instance_id}`)
    return found
  }

  async function record(worker: Worker): Promise<Worker> {
    const before = (await plane.all('workers')).find(({ id }) => id === worker.id)
    await plane.put('workers', { ...worker, secret_refs: { ...before?.secret_refs, ...worker.secret_refs } })
    return plane.get('workers', worker.id)
  }

  return {
    clock,
    model,
    compute,
    machines: batchedCompute(compute),
    reads: someReads(clock),
    cml: simCmlSystem(model),
    metrics: simMetrics(model),
    plane,
    client,
    logins: cmlLogins(client, { ...DEFAULT_CML_LOGIN }),
    access: cmlAccessTracker(clock, () => undefined),
    launch,
    see,
    async workerOn(instance, more = {}) {
      const { aws_region = REGION } = more
      const seen = await see(instance, aws_region)
      const pinned = { ...aWorker().cml, certificate_sha256: model.cml.fingerprintOf(seen.instance_id) }
      const blank = aWorker({ launch: anAttempt(), ec2_instance_id: seen.instance_id, cml: pinned })
      const known = withChanges(blank, factsOf(blank, seen, 'public'))
      return {
        ...known,
        status: 'RUNNING',
        service_status: 'AVAILABLE',
        https_endpoint: endpointOf(seen, 'public'),
        ...more,
      }
    },
    record,
    async recordWith(worker, { license: token, login }) {
      const params = { id: worker.id }
      await record({ ...worker, status: 'RUNNING', desired_status: 'RUNNING', launch: worker.launch ?? anAttempt() })
      if (token !== undefined)
        await plane.others().call('putWorkerLicense', { params, body: { product: 'CML_Enterprise', token } })
      if (login !== undefined) await plane.others().call('putWorkerCredentials', { params, body: { ...login } })
      return record(worker)
    },
    setServer: ({ instance_id }, { opt_in, faults }) =>
      void model.cml.act(instance_id, ({ server }) => {
        const fault_changes = { ...server.fault_changes, ...faults }
        return { status: 204, change: { server: { ...server, fault_changes, opt_in: opt_in ?? server.opt_in } } }
      }),
  }
}

/** The tags of a machine that this fleet has launched. */
export const ourTags = (workerId: string): Readonly<Record<string, string>> => ({
  [TAG.workerId]: workerId,
  [TAG.fleet]: FLEET,
  [TAG.discovery]: 'true',
})
