import type { Actor } from '@lcm/domain/actor'
import type { ServiceTerm } from '@lcm/domain/fencing'
import type { FleetScaling } from '@lcm/domain/fleet/fleet-scaling'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import type { ServiceInstance } from '@lcm/domain/fleet/service-instance'
import type { GivenSettings, Settings } from '@lcm/domain/fleet/settings'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import type { ChangeFeed, Collection, Store } from '@lcm/store/store'
import type { Sealing } from '../resources/secret/sealing.ts'
import * as kinds from '../resources.ts'

/** What the commands and queries stand on. Time and chance come in from outside, so a run can be repeated exactly. */
export interface Api extends ApiParts, Collections {}

export interface ApiParts {
  readonly store: Store
  /** Where changes are ordered: in the store, or by their change keys. */
  readonly feed: ChangeFeed
  readonly clock: Clock
  readonly randomBytes: (size: number) => Uint8Array
  readonly sealing: Sealing
  readonly config: ApiConfig
}

interface Collections {
  readonly workers: Collection<Worker>
  readonly templates: Collection<WorkerTemplate>
  readonly definitions: Collection<kinds.StoredDefinition>
  readonly sessions: Collection<LabletSession>
  readonly labs: Collection<LabRecord>
  readonly settings: Collection<Settings>
  readonly services: Collection<ServiceTerm>
  readonly instances: Collection<ServiceInstance>
  readonly fleetScaling: Collection<FleetScaling>
  readonly leaks: Collection<LicenseLeak>
  readonly tokens: Collection<kinds.StoredToken>
  readonly secrets: Collection<kinds.Secret>
  readonly idempotentRequests: Collection<kinds.IdempotentRequest>
}

export interface ApiConfig {
  readonly version: string
  readonly profile: 'embedded' | 'cluster'
  readonly cloud: 'sim' | 'aws'
  /** The first is given to a worker that names none. */
  readonly regions: readonly [string, ...string[]]
  /** Settings that the environment gives; they can be changed at run time. */
  readonly settings: GivenSettings
}

/** Who asked for what, as handlers see it. */
export interface Request<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly actor: Actor
  /** The version that the caller's write is based on, if it said so. */
  readonly ifMatch: number | null
  readonly lastEventId: string | null
  /** For fenced routes: what the document must not have been written beyond. */
  readonly fence: number | null
  /** The term that the caller says it writes in; 0 where it says none. */
  readonly epoch: number
  /** For a request that came with an Idempotency-Key: the id of what it creates, and how to know it again. */
  readonly once: { readonly resourceId: string; readonly key: string } | null
  readonly signal: AbortSignal
}

export function openApi(parts: ApiParts): Api {
  const { store } = parts
  return {
    ...parts,
    workers: store.collection(kinds.WORKERS),
    templates: store.collection(kinds.TEMPLATES),
    definitions: store.collection(kinds.DEFINITIONS),
    sessions: store.collection(kinds.SESSIONS),
    labs: store.collection(kinds.LABS),
    settings: store.collection(kinds.SETTINGS),
    services: store.collection(kinds.SERVICES),
    instances: store.collection(kinds.INSTANCES),
    fleetScaling: store.collection(kinds.FLEET_SCALING),
    leaks: store.collection(kinds.LEAKS),
    tokens: store.collection(kinds.TOKENS),
    secrets: store.collection(kinds.SECRETS),
    idempotentRequests: store.collection(kinds.IDEMPOTENT_REQUESTS),
  }
}
