import type { Actor } from '@lcm/contract/access'
import { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection, Store } from '@lcm/store/store'

/** What the commands and queries stand on. Time and chance come in from outside, so a run can be repeated exactly. */
export interface Api {
  readonly workers: Collection<Worker>
  readonly templates: Collection<WorkerTemplate>
  readonly store: Store
  readonly clock: Clock
  readonly randomBytes: (size: number) => Uint8Array
  readonly config: ApiConfig
}

export interface ApiConfig {
  readonly version: string
  readonly profile: 'embedded' | 'cluster'
  readonly cloud: 'sim' | 'aws'
  /** The first is given to a worker that names none. */
  readonly regions: readonly [string, ...string[]]
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
  readonly signal: AbortSignal
}

export function openApi(parts: Omit<Api, 'workers' | 'templates'>): Api {
  const { store } = parts
  return {
    ...parts,
    workers: store.collection({
      name: 'worker',
      parse: body => Worker.parse(body),
      unique: { ec2_instance_id: worker => worker.ec2_instance_id },
    }),
    templates: store.collection({
      name: 'template',
      parse: body => WorkerTemplate.parse(body),
      unique: { name: template => template.name },
    }),
  }
}
