import type { RegionFacts } from '@lcm/domain/fleet/machine-facts'
import type { GivenSettings } from '@lcm/domain/fleet/settings'
import type { Clock } from '@lcm/runtime/clock'
import type { ChangeFeed, Store } from '@lcm/store/store'
import type { KeyRing } from './keys/key-ring.ts'

/** Dependencies of the API. Time and randomness are injected, so a run can be repeated exactly. */
export interface ApiParts {
  readonly store: Store
  /** Ordered changes: from the store, or from the change keys. */
  readonly feed: ChangeFeed
  readonly clock: Clock
  readonly randomBytes: (size: number) => Uint8Array
  /** Seals and opens secrets. */
  readonly keys: KeyRing
  readonly config: ApiConfig
}

export interface ApiConfig {
  readonly version: string
  readonly profile: 'embedded' | 'cluster'
  readonly cloud: 'sim' | 'aws'
  /** The first region is the default of new workers. */
  readonly regions: readonly [string, ...string[]]
  /** Prices and sizes of machines that replace the shipped ones. */
  readonly regionFacts?: RegionFacts
  /** Settings from the environment; they can be changed at run time. */
  readonly settings: GivenSettings
}
