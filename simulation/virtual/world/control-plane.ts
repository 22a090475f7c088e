import { type ControlPlane, controlPlane } from '@lcm/control-plane/control-plane'
import type { SecretKeys } from '@lcm/control-plane/keys/secret-keys'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Store } from '@lcm/store/store'
import { NO_QUOTAS } from '@lcm/testkit/a-control-plane'
import type { VirtualTime } from '@lcm/testkit/virtual-time'

export const LEARNER_NAMES = ['ada', 'bob', 'eve'] as const
export type LearnerName = (typeof LEARNER_NAMES)[number]
export const TOKENS = { admin: 'admin', controller: 'controller', scheduler: 'scheduler', lablets: 'lablets' } as const

export const METAL = WorkerTemplateSpec.parse({
  name: 'metal',
  instance_types: ['m5zn.metal', 'm5.metal'],
  ami_name_pattern: 'cml-2.9.1-*',
  ami_owner: 'self',
  capacity: { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 100 },
  cost_per_hour_usd: 4,
})

export interface ControlPlaneParts {
  readonly time: VirtualTime
  readonly clock: Clock
  readonly store: Store
  readonly changeKeys: ChangeKeys
  readonly templates: readonly WorkerTemplateSpec[]
  readonly secretKeys: SecretKeys
  readonly log: Logger
}

/** The API without sockets, with a token for every user. */
export async function openControlPlane(parts: ControlPlaneParts): Promise<ControlPlane> {
  const { time, clock, store, changeKeys, templates, secretKeys, log } = parts
  const plane = controlPlane({
    store,
    changeKeys,
    clock,
    randomBytes: size => time.random.bytes(size),
    secretKeys,
    config: { version: '0.0.0', profile: 'embedded', cloud: 'sim', regions: ['us-east-1'], settings: NO_QUOTAS },
    log,
    process: { health: () => ({ status: 'healthy' }), waitsFor: () => null, metrics: async () => '' },
  })
  plane.access.grant(TOKENS.admin, { id: 'admin', name: 'admin', role: 'admin', service: null })
  plane.access.grant(TOKENS.controller, { id: 'wc', name: 'wc', role: 'controller', service: 'worker-controller' })
  plane.access.grant(TOKENS.scheduler, { id: 'rs', name: 'rs', role: 'controller', service: 'resource-scheduler' })
  plane.access.grant(TOKENS.lablets, { id: 'lc', name: 'lc', role: 'controller', service: 'lablet-controller' })
  for (const name of LEARNER_NAMES) plane.access.grant(name, { id: name, name, role: 'user', service: null })
  await plane.seed(templates)
  return plane
}
