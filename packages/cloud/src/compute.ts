import type { Instance, LaunchParameters } from '@lcm/domain/worker/instance'

/** All given parts must hold. An empty filter would list foreign machines, so one part is required. */
export type InstanceFilter =
  | { readonly tags: Readonly<Record<string, string>>; readonly client_token?: string }
  | { readonly client_token: string }

export interface Image {
  readonly image_id: string
  readonly name: string
  readonly created_at: string
  /** What the image calls its root volume; a volume under any other name would be a second one. */
  readonly root_device: string
}

/**
 * Virtual machines of one account, any region. Every call ends within its adapter's deadline or when `signal` aborts,
 * and every failure is a CloudError.
 */
export interface Compute {
  /**
   * Every machine that matches, dead ones too while the cloud still shows them. Rejects rather than answer a part:
   * an answer is complete, so what is not in it was not visible at that moment.
   */
  list(region: string, filter: InstanceFilter, signal: AbortSignal): Promise<readonly Instance[]>
  /** By id. Ids that the cloud does not know are in `missing`; that alone does not prove them gone. */
  describe(region: string, instanceIds: readonly string[], signal: AbortSignal): Promise<DescribeResult>
  /** The newest available image of exactly that owner, or null. `*` and `?` are wildcards in the pattern. */
  newestImage(region: string, wanted: ImageQuery, signal: AbortSignal): Promise<Image | null>
  /**
   * Launches one machine. The same token with the same parameters in the same subnet never launches a second one and
   * answers the first. Fails with `attempt_spent` when that one is dead, `attempt_mismatch` when the parameters differ.
   */
  launch(region: string, request: LaunchRequest, signal: AbortSignal): Promise<Instance>
  /** These three only start the change and answer the state that the cloud named. Repeating them does no harm. */
  start(region: string, instanceId: string, signal: AbortSignal): Promise<string>
  stop(region: string, request: StopRequest, signal: AbortSignal): Promise<string>
  terminate(region: string, instanceId: string, signal: AbortSignal): Promise<string>
}

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
}

export interface StopRequest {
  readonly instance_id: string
  /** Pulls the plug. Only for a machine that would not stop. */
  readonly force: boolean
}
