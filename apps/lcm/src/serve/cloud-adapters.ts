import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlCredentials } from '@lcm/cloud/cml-login-resolver'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import type { MachineMetrics } from '@lcm/cloud/machine-metrics'
import type { Objects } from '@lcm/cloud/object-storage'
import { missingCredentials } from '@lcm/cloud-aws/check-account'
import { awsMetrics } from '@lcm/cloud-aws/cloudwatch/machine-metrics'
import { cmlLabsClient } from '@lcm/cloud-aws/cml/cml-labs'
import { cmlSystemClient } from '@lcm/cloud-aws/cml/cml-system'
import { type AwsCall, awsCompute } from '@lcm/cloud-aws/ec2/compute'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import type { PresetName } from '@lcm/cloud-sim/faults/fault-plan'
import type { ControlApi } from '@lcm/cloud-sim/server/control-api'
import { startSimServer } from '@lcm/cloud-sim/server/server'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/sim-model'
import { type SimFile, type SimStore, SimStoreError, sqliteSimStore } from '@lcm/cloud-sim/sim-store'
import { WORKER_POLICY, type WorkerPolicy } from '@lcm/domain/worker/observation'
import type { Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { S3Environment } from './environment/environment.ts'
import { type Regions, readRegionsFile } from './files/regions-file.ts'
import { s3ObjectsOf } from './s3-objects.ts'
import { StartupError } from './startup-error.ts'

/** The cloud ports for the controllers, with the regions and endpoints. */
export interface Cloud {
  readonly compute: Compute
  readonly metrics: MachineMetrics
  readonly cml: CmlSystem
  readonly labs: CmlLabs
  /** Reads S3 buckets; null for a cloud without buckets. */
  readonly objects: Objects | null
  /** Default CML login; null if there is none. */
  readonly cmlDefaults: CmlCredentials | null
  readonly regions: Regions
  readonly policy: WorkerPolicy
  readonly endpoints: { readonly aws: string | null; readonly sim_control: string | null }
  /** Control API of a simulated cloud; null for AWS. */
  readonly control: ControlApi | null
  /** Writes a consistent copy of a simulated cloud to a new file; null for AWS. */
  readonly backup: ((file: string) => Promise<void>) | null
  close(): Promise<void>
}

export interface RealCloudOptions {
  readonly clock: Clock
  readonly regionsFile: string | undefined
  readonly buckets: S3Environment
  readonly onCall: (call: AwsCall) => void
  readonly signal: AbortSignal
}

const CREDENTIALS_MS_MAX = 10_000

/** Without credentials every call would fail, with a stack for each. */
async function refuseWithoutCredentials({ clock, signal }: RealCloudOptions): Promise<void> {
  const missing = await missingCredentials({ clock, signal, deadlineMs: CREDENTIALS_MS_MAX })
  if (missing === null) return
  throw new StartupError('--cloud aws found no AWS credentials', {
    advice:
      'set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or assign an instance role to this computer',
    exitCode: 2,
  })
}

export async function realCloud(options: RealCloudOptions): Promise<Cloud> {
  if (options.regionsFile === undefined || options.regionsFile === '') {
    throw new StartupError('--cloud aws needs AWS_REGIONS_CONFIG_PATH', {
      advice: 'set it to a YAML file that names your regions and subnets',
      exitCode: 2,
    })
  }
  const regions = readRegionsFile(options.regionsFile)
  await refuseWithoutCredentials(options)
  const { clock, onCall } = options
  const compute = awsCompute({ clock, onCall })
  const metrics = awsMetrics({ clock, onCall })
  const cml = cmlSystemClient({ clock })
  const labs = cmlLabsClient({ clock })
  return {
    compute,
    metrics,
    cml,
    labs,
    objects: s3ObjectsOf(options.buckets, { clock }),
    cmlDefaults: null,
    regions,
    policy: WORKER_POLICY,
    endpoints: { aws: null, sim_control: null },
    control: null,
    backup: null,
    async close() {
      compute.close()
      metrics.close()
      await Promise.all([cml.close(), labs.close()])
    },
  }
}

export interface SimCloudOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly storeFile: string
  readonly seed: number
  readonly speed: number
  readonly port: number | null
  /** Fault preset; null keeps the current one, initially calm. */
  readonly preset: PresetName | null
  /** Number of machines in a new simulated cloud. */
  readonly fleet: number
  readonly onCall: (call: AwsCall) => void
}

const region = (letter: string) => ({
  security_group_ids: [`sg-${letter}cml`],
  subnets: [`subnet-${letter}a`, `subnet-${letter}b`],
  key_name: null,
  default_tags: {},
})
const SIM_REGIONS: Regions = { 'us-east-1': region('use1'), 'us-west-2': region('usw2'), 'eu-west-1': region('euw1') }

/** Shorter intervals, because time is faster in the simulated cloud. */
const SIM_POLICY: WorkerPolicy = { ...WORKER_POLICY, requeueMs: 500, requeueMsMax: 5_000, probeIntervalMs: 1_000 }

/** The simulated cloud on loopback, accessed by the same clients as AWS. */
export async function simulatedCloud(options: SimCloudOptions): Promise<Cloud> {
  const { clock, log, onCall } = options
  const store = openSimStore(options.storeFile)
  const model = openWorld(options, store)
  const server = await startSimServer({ model, clock, log, port: options.port ?? 0 }).catch((cause: unknown) => {
    model.close()
    throw new StartupError(`the simulated cloud can't listen on port ${options.port}`, {
      advice: 'choose another with --sim-port',
      cause,
    })
  })
  const credentials = { accessKeyId: 'simulated', secretAccessKey: 'simulated' }
  const compute = awsCompute({ clock, endpoint: server.url, credentials, onCall })
  const metrics = awsMetrics({ clock, endpoint: server.url, credentials, onCall })
  const cml = cmlSystemClient({ clock })
  const labs = cmlLabsClient({ clock })
  const copies = new Set<Promise<void>>()
  return {
    compute,
    metrics,
    cml,
    labs,
    objects: null,
    cmlDefaults: DEFAULT_CML_LOGIN,
    regions: SIM_REGIONS,
    policy: SIM_POLICY,
    endpoints: { aws: server.url, sim_control: `${server.url}/sim/v1` },
    control: server.control,
    async backup(file) {
      const copy = store.backup(file)
      copies.add(copy)
      await copy.finally(() => copies.delete(copy))
    },
    async close() {
      compute.close()
      metrics.close()
      await Promise.all([cml.close(), labs.close()])
      await server.close()
      await Promise.allSettled(copies)
      model.close()
    },
  }
}

/** Opens a stored or new simulated cloud and applies the preset. A new one gets `fleet` machines. */
export const openWorld = (
  { clock, seed, speed, preset, fleet }: Pick<SimCloudOptions, 'clock' | 'seed' | 'speed' | 'preset' | 'fleet'>,
  store: SimStore,
): SimModel =>
  inWords(() => {
    const model = openSimModel({ seed, clock, speed, store, preset: 'calm' })
    model.plantFleet(fleet)
    if (preset !== null) model.faults.usePreset(preset)
    return model
  })

export const openSimStore = (file: string): SimFile => inWords(() => sqliteSimStore(file))

function inWords<T>(open: () => T): T {
  try {
    return open()
  } catch (cause) {
    if (cause instanceof SimStoreError) throw new StartupError(cause.message, { cause })
    throw cause
  }
}
