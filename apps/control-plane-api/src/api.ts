import type { Actor } from '@lcm/domain/actor'
import { ServiceTerm } from '@lcm/domain/fencing'
import { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { Token } from '@lcm/domain/token'
import { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection, Store } from '@lcm/store/store'
import { z } from 'zod'

/** What is kept of a token: enough to recognise its secret, not to tell it. */
const StoredToken = Token.extend({ hash: z.string() })
type StoredToken = z.infer<typeof StoredToken>

/** What the commands and queries stand on. Time and chance come in from outside, so a run can be repeated exactly. */
export interface Api {
  readonly workers: Collection<Worker>
  readonly templates: Collection<WorkerTemplate>
  readonly terms: Collection<ServiceTerm>
  readonly tokens: Collection<StoredToken>
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
  /** For fenced routes: what the document must not have been written beyond. */
  readonly fence: number | null
  readonly signal: AbortSignal
}

export function openApi(parts: Omit<Api, 'workers' | 'templates' | 'terms' | 'tokens'>): Api {
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
    terms: store.collection({ name: 'term', parse: body => ServiceTerm.parse(body) }),
    tokens: store.collection({
      name: 'token',
      parse: body => StoredToken.parse(body),
      unique: { hash: token => token.hash },
    }),
  }
}
