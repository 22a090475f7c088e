import { SIM_CONTROL_PATH } from '@lcm/contract/administration'
import { ProblemError } from '@lcm/contract/problems'
import { CHANGE_KEY_ROOT } from '@lcm/contract/resource-kinds'
import type { Dispatch } from '@lcm/contract/route-spec'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import { SETTINGS_ID } from '@lcm/domain/fleet/settings'
import type { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { HostedService, Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { ChangeFeed, Store } from '@lcm/store/store'
import { type AccessControl, type AccessSetting, accessControl } from './access/access-control.ts'
import { type Api, openApi } from './api-context.ts'
import type { ApiConfig } from './api-dependencies.ts'
import { announcer, resourceOfKey } from './changes/announcer.ts'
import { eventStreams, liveEvents } from './changes/events.ts'
import { changeKeyFeed } from './changes/feed/change-key-feed.ts'
import { limitStreams } from './changes/stream-limit.ts'
import { webhook } from './changes/webhook/webhook.ts'
import type { WebhookSetting } from './changes/webhook/webhook-post.ts'
import { housekeeping } from './housekeeping.ts'
import { dispatcher } from './http/dispatch.ts'
import { extraRoutes, type ProcessStatus } from './http/extra-routes.ts'
import { handlers } from './http/handlers.ts'
import { withDeadline } from './http/with-deadline.ts'
import { keyReports, keyRing } from './keys/key-ring.ts'
import type { SecretKeys } from './keys/secret-keys.ts'
import { holdFleet } from './resources/fleet/change-fleet-scaling.ts'
import { fleetMetrics } from './resources/fleet/fleet-metrics.ts'
import { notifier } from './resources/notification/notifier.ts'
import type { NotificationSetting } from './resources/notification/send-message.ts'
import { recordSignIn, seedPeople } from './resources/person/record-people.ts'
import { nextEpoch } from './resources/service/term-fencing.ts'
import { seedTemplates } from './resources/template/commands.ts'
import { findToken } from './resources/token/queries.ts'
import { refreshMachineFacts } from './resources/worker/refresh-machine-facts.ts'
import { RESOURCES } from './resources.ts'

export interface ControlPlaneParts extends AccessSetting {
  readonly store: Store
  readonly changeKeys: ChangeKeys
  readonly clock: Clock
  readonly randomBytes: (size: number) => Uint8Array
  readonly secretKeys: SecretKeys
  readonly config: ApiConfig
  readonly log: Logger
  readonly process: ProcessStatus
  /** Reads a consistent copy of the store; absent where the store has its own backup tools. */
  readonly backup?: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>
  /** Receiver of every change. */
  readonly webhook?: WebhookSetting
  /** How notifications are sent; without it none are. */
  readonly notifications?: NotificationSetting
  /** Whether `/metrics` needs no authentication. */
  readonly metricsPublic?: boolean
}

export interface ControlPlane {
  readonly dispatch: Dispatch
  readonly access: AccessControl
  /** Background services: publishing commits, following changes, housekeeping. */
  readonly services: readonly HostedService[]
  /** Creates what the store lacks: templates, and records of people for tokens, those registered before included. */
  seed(templates: readonly WorkerTemplateSpec[]): Promise<void>
  /** Next term of a service that runs without etcd. */
  nextEpoch(service: string): Promise<number>
  /** Blocks automatic actions until every worker has been observed: for a restored store. */
  holdFleet(): Promise<void>
}

/** The API without its sockets: the same in a server, in a test and in the simulation. */
export function controlPlane(parts: ControlPlaneParts): ControlPlane {
  const { log, changeKeys } = parts
  const ordered = orderedChanges(parts)
  const ringParts = { ...parts, keys: parts.secretKeys, rings: parts.store.collection(RESOURCES.keyRings) }
  const keys = keyRing(ringParts)
  const api = openApi({ ...parts, feed: ordered.feed, keys })
  const access = accessControl({
    ...parts,
    sealing: keys.cookies,
    findToken: secret => findToken(api, secret),
    getPerson: id => api.people.get(id),
    recordSignIn: (id, profile, since) => recordSignIn(api, id, profile, since),
  })
  const live = liveEvents(api, log)
  const events = limitStreams(eventStreams(api, live))
  const backup = parts.backup ?? refuseBackup
  const { notifications: setting, publicUrl = null } = parts
  const notify = setting === undefined ? null : notifier({ api, setting, publicUrl, log })
  const simControl = parts.process.simulator === undefined ? null : SIM_CONTROL_PATH
  return {
    dispatch: dispatcher({
      api,
      handlers: handlers({
        api,
        access,
        events,
        backup,
        simControl,
        notify: { setting: setting ?? NO_NOTIFICATIONS, publicUrl },
      }),
      access,
      log,
      extra: extraRoutes({
        ...parts,
        access,
        version: parts.config.version,
        storeAnswers: () => responds(api, api.settings.get(SETTINGS_ID)),
        changesAreListed: () => responds(api, api.feed.position()),
        fleetMetrics: async () => `${await fleetMetrics(api, events.openNow())}${notify?.metrics() ?? ''}`,
      }),
    }),
    access,
    services: [
      ...ordered.services,
      announcer(api, changeKeys, log),
      live.service,
      housekeeping(api, log, access.audit),
      ...(parts.secretKeys.file === null ? [keyReports(ringParts, keys)] : []),
      ...(notify === null ? [] : [notify.service]),
      ...(parts.webhook === undefined ? [] : [webhook(api, parts.webhook, log)]),
    ],
    async seed(templates) {
      await seedTemplates(api, templates)
      await seedPeople(api, access.builtInPeople())
      await refreshMachineFacts(api)
    },
    nextEpoch: service => nextEpoch(api, service),
    holdFleet: async () => void (await holdFleet(api)),
  }
}

/** Targets can be edited and tested; nothing is sent. */
const NO_NOTIFICATIONS: NotificationSetting = {
  source: '/lcm',
  fetch: async () => Promise.reject(new Error('notifications are off')),
  sendEmail: null,
}

/** The store's own order if it has one, so that a single process needs nothing else; else the order of the change keys. */
function orderedChanges({ store, changeKeys, clock, log }: ControlPlaneParts): {
  feed: ChangeFeed
  services: readonly HostedService[]
} {
  if (store.changes !== null) return { feed: store.changes, services: [] }
  const { feed, service } = changeKeyFeed({ source: changeKeys.source(CHANGE_KEY_ROOT), resourceOfKey, clock, log })
  return { feed, services: [service] }
}

/** Timeout of readiness checks. */
const ANSWER_MS_MAX = 2_000

const responds = (api: Api, read: Promise<unknown>): Promise<boolean> =>
  withDeadline(api.clock, ANSWER_MS_MAX, read).then(
    () => true,
    () => false,
  )

async function refuseBackup(): Promise<never> {
  throw new ProblemError('backup_unavailable', 'use the tools of the database server, such as mongodump')
}
