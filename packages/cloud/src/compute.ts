import type { Instance, LaunchParameters } from '@lcm/domain/worker/ec2-instance'

/** All given parts must hold. An empty filter would list foreign machines, so one part is required. */
export type InstanceFilter =
  | { readonly tags: Readonly<Record<string, string>>; readonly client_token?: string }
  | { readonly client_token: string }
  /** Machines that have at least one of these tags, whatever its value. */
  | { readonly tag_keys: readonly string[] }
  /** Machines that were made from one of these. */
  | { readonly image_ids: readonly string[] }

export interface Image {
  readonly image_id: string
  readonly name: string
  readonly created_at: string
  /** The image's name for its root volume; a volume under any other name would be a second one. */
  readonly root_device: string
}

/**
 * Virtual machines of one account, any region. Every call ends within its adapter's deadline or when `signal` aborts,
 * and every failure is a CloudError.
 */
export interface Compute {
  /**
   * Every machine that matches, dead ones too while the cloud still shows them. Rejects rather than return a part: a
   * result is complete, so a machine that is not in it was not visible at that moment.
   */
  list(region: string, filter: InstanceFilter, signal: AbortSignal): Promise<readonly Instance[]>
  /** By id. Ids that the cloud does not know are in `missing`; that alone does not prove them gone. */
  describe(region: string, instanceIds: readonly string[], signal: AbortSignal): Promise<DescribeResult>
  /** The newest available image of exactly that owner, or null. `*` and `?` are wildcards in the pattern. */
  newestImage(region: string, wanted: ImageQuery, signal: AbortSignal): Promise<Image | null>
  /** Every image of that name that the account can see, of any owner and age. The same wildcards. */
  imageIds(region: string, namePattern: string, signal: AbortSignal): Promise<readonly string[]>
  /**
   * Launches one machine. The same token with the same parameters in the same subnet never launches a second one and
   * returns the first. Fails with `attempt_spent` when that one is dead, `attempt_mismatch` when the parameters differ.
   */
  launch(region: string, request: LaunchRequest, signal: AbortSignal): Promise<Instance>
  /**
   * Starts a change of these machines, of which one request can name no more than `IDS_PER_CALL.power`; returns the
   * state that the cloud reported for each. One machine that can't be changed may make it reject the whole request,
   * though it may have changed others by then; `powerEach` tells them apart. Safe to repeat.
   */
  power(region: string, action: PowerAction, instanceIds: readonly string[], signal: AbortSignal): Promise<PowerStates>
  /** Sets these tags of one machine; its other tags stay. Safe to repeat. A list may show it only after seconds. */
  tag(region: string, instanceId: string, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void>
}

/** `force_stop` pulls the plug. Only for a machine that would not stop. */
export type PowerAction = 'start' | 'stop' | 'force_stop' | 'terminate'

export type PowerStates = ReadonlyMap<string, string>

/** Ids that one request may name: more take several requests. */
export const IDS_PER_CALL = { describe: 200, power: 50 } as const
/** Machines or images in one page of a response. */
export const LISTED_PER_CALL = 200

export interface DescribeResult {
  readonly found: readonly Instance[]
  readonly missing: readonly string[]
}

export interface ImageQuery {
  readonly name_pattern: string
  readonly owner: string
}

export interface LaunchRequest {
  readonly client_token: string
  readonly parameters: LaunchParameters
  /** User data for the first boot, as plain text; null for none. */
  readonly user_data: string | null
}
