import { apiClient } from '@lcm/client/client'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { computeConformance, type OpenCompute } from '@lcm/cloud/conformance/compute'
import { CloudError } from '@lcm/cloud/errors'
import { NO_READING } from '@lcm/cloud/machine-metrics'
import { controlPlane } from '@lcm/control-plane/control-plane'
import { storedKeys } from '@lcm/control-plane/keys/secret-keys'
import { decisionLog } from '@lcm/controllers/kit/decision-log'
import { registeredElection } from '@lcm/controllers/kit/registered-election'
import { WORKER_CONTROLLER_DEFAULTS } from '@lcm/controllers/worker/config'
import { workerController } from '@lcm/controllers/worker/controller'
import { leaderOnlyCompute } from '@lcm/controllers/worker/leader-only-compute'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { host, silentLogger, silentMeter } from '@lcm/runtime'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { manualClock } from '@lcm/testkit/manual-clock'
import { virtualTime } from '@lcm/testkit/virtual-time'
import { expect, it } from 'vitest'
import { NEWEST_IMAGE, OWNER, tinyCloud } from './tiny-cloud.ts'

const REGION = 'north'
const IMAGES = { name_pattern: 'tiny-cml-*', owner: OWNER }

async function openTinyCloud(): Promise<OpenCompute> {
  const clock = manualClock()
  const compute = tinyCloud(clock)
  const { signal } = new AbortController()
  return {
    compute,
    place: {
      region: REGION,
      other_region: 'south',
      subnet_id: 'subnet-north-a',
      other_subnet_id: 'subnet-north-b',
      instance_type: 'tiny.metal',
      not_offered: { instance_type: 'tiny.rare', subnet_id: 'subnet-north-a' },
      images: IMAGES,
      newest_image: NEWEST_IMAGE,
    },
    advance: ms => clock.advance(ms),
    async plant(count, tags) {
      const image = await compute.newestImage(REGION, IMAGES, signal)
      const parameters = { ...PARAMETERS, image_id: image?.image_id ?? '', tags }
      for (let n = 0; n < count; n += 1)
        await compute.launch(REGION, { client_token: `planted-${n}`, user_data: null, parameters }, signal)
    },
    close: async () => undefined,
  }
}

const PARAMETERS = {
  instance_type: 'tiny.metal',
  subnet_id: 'subnet-north-a',
  associate_public_ip: null,
  security_group_ids: [],
  key_name: null,
  root_device: '/dev/sda1',
  root_volume_gb: 64,
  volume_encrypted: false,
  iam_instance_profile: null,
  nested_virtualization: false,
  user_data_ref: null,
}

computeConformance('the tiny cloud', openTinyCloud)

const unreachable = async (): Promise<never> => {
  throw new CloudError('transient', { code: 'unreachable', action: 'CML', message: 'CML only answers probes here' })
}
/** CML on every machine is up as soon as it is probed, and answers nothing else. */
const READY_CML: CmlSystem = {
  probe: async () => ({ stage: 'READY', version: '2.9.1', certificate_sha256: 'a'.repeat(64), detail: '' }),
  stats: unreachable,
  health: unreachable,
  nodeDefinitions: unreachable,
  licensing: unreachable,
  register: unreachable,
  deregister: unreachable,
  activity: unreachable,
}

it('brings one worker to RUNNING', async () => {
  const time = virtualTime(1)
  const { clock } = time
  const store = openSqliteStore(':memory:')
  const local = localCoordination({ clock, firstEpoch: () => 1 })
  const plane = controlPlane({
    store,
    clock,
    changeKeys: local.changeKeys,
    randomBytes: size => time.random.bytes(size),
    secretKeys: storedKeys([time.random.bytes(32)]),
    config: { version: '0.0.0', profile: 'embedded', cloud: 'sim', regions: [REGION], settings: {} },
    log: silentLogger,
    process: { health: () => ({ status: 'healthy' }), waitsFor: () => null, metrics: async () => '' },
  })
  plane.access.grant('admin', { id: 'admin', name: 'admin', role: 'admin', service: null })
  plane.access.grant('controller', { id: 'wc', name: 'wc', role: 'controller', service: 'worker-controller' })
  await plane.seed([TEMPLATE])

  const client = apiClient(plane.dispatch, { token: 'controller' })
  const election = local.election('worker-controller', 'one')
  const shared = { client, clock, logger: silentLogger }
  const decisions = decisionLog({ ...shared, instanceId: 'one' })
  const controller = workerController({
    ...shared,
    ...leaderOnlyCompute({
      compute: tinyCloud(clock),
      election: registeredElection({ ...shared, election, service: 'worker-controller' }),
      clock,
    }),
    metrics: { latest: async (_, ids) => new Map(ids.map(id => [id, NO_READING])) },
    decisions,
    cml: READY_CML,
    changeKeys: local.changeKeys,
    meter: silentMeter,
    config: { ...WORKER_CONTROLLER_DEFAULTS, fleet: 'example', regions: REGIONS, policy: WORKER_POLICY },
  })
  const stop = new AbortController()
  const ended = host([controller.service, decisions.service], stop.signal)

  const admin = apiClient(plane.dispatch, { token: 'admin' })
  const { id } = await admin.call('createWorker', { body: { name: 'first', template_name: 'tiny' } })
  await time.runFor(5 * 60_000)
  expect(await admin.call('getWorker', { params: { id } })).toMatchObject({ status: 'RUNNING', name: 'first' })

  stop.abort()
  await Promise.all([ended, time.runFor(60_000)])
  await store.close()
})

const REGIONS = {
  [REGION]: { security_group_ids: [], subnets: ['subnet-north-a', 'subnet-north-b'], key_name: null, default_tags: {} },
}

const TEMPLATE = WorkerTemplateSpec.parse({
  name: 'tiny',
  instance_types: ['tiny.metal'],
  ami_name_pattern: IMAGES.name_pattern,
  ami_owner: OWNER,
  capacity: { cpu_cores: 4, memory_gb: 16, storage_gb: 64, max_nodes: 5 },
  cost_per_hour_usd: 1,
})
