import type { Dispatch } from '@lcm/contract/wire'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { HostedService, Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Store } from '@lcm/store/store'
import { type AccessControl, accessControl } from './access-control.ts'
import { announcer } from './announcer.ts'
import { type ApiConfig, openApi } from './api.ts'
import { seedTemplates } from './commands/templates.ts'
import { fenceOf, nextEpoch } from './commands/terms.ts'
import { dispatcher } from './dispatch.ts'
import { extraRoutes, type ProcessFace } from './extra-routes.ts'
import { handlers } from './handlers.ts'
import { findToken } from './queries/tokens.ts'

export interface ControlPlaneParts {
  readonly store: Store
  readonly changeKeys: ChangeKeys
  readonly clock: Clock
  readonly randomBytes: (size: number) => Uint8Array
  readonly secretKey: Uint8Array
  readonly config: ApiConfig
  readonly log: Logger
  readonly process: ProcessFace
}

export interface ControlPlane {
  readonly dispatch: Dispatch
  readonly access: AccessControl
  /** Tells the controllers what was committed. */
  readonly announcer: HostedService
  seed(templates: readonly WorkerTemplateSpec[]): Promise<void>
  /** What the next term of a service without etcd must be. */
  nextEpoch(service: string): Promise<number>
}

/** The API without its sockets: the same in a server, in a test and in the simulation. */
export function controlPlane(parts: ControlPlaneParts): ControlPlane {
  const api = openApi(parts)
  const access = accessControl({ ...parts, findToken: secret => findToken(api, secret) })
  const extra = extraRoutes({ access, process: parts.process, version: parts.config.version })
  return {
    dispatch: dispatcher({
      handlers: handlers(api, access),
      access,
      log: parts.log,
      extra,
      fenceOf: (service, epoch) => fenceOf(api, service, epoch),
    }),
    access,
    announcer: announcer(api, parts.changeKeys, parts.log),
    seed: templates => seedTemplates(api, templates),
    nextEpoch: service => nextEpoch(api, service),
  }
}
