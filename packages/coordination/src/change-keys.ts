import type { WatchSource } from '@lcm/runtime'

/** Value of a change key: enough to decide whether to wake a reader, never a secret, never the resource itself. */
export interface ChangeHint {
  readonly id: string
  readonly version: number
  readonly updated_at: string
  readonly status?: string
  readonly desired_status?: string
  readonly service_status?: string
  readonly restarted_at?: string
  /** The resource is removed, and `version` is that of the removal. The key itself expires some minutes later. */
  readonly deleted?: true
}

/** Keys such as `/lcm/workers/<id>` that change whenever the resource behind them does. */
export interface ChangeKeys {
  /** Sets the key unless it already holds this version or a newer one; returns whether it was set. */
  publish(key: string, hint: ChangeHint): Promise<boolean>
  /**
   * Sets the key to a hint with `deleted`, unless it already holds this version or a newer one; returns whether it was
   * set. `version` is that of the removal: one more than the last version of the resource. The key expires after
   * `REMOVAL_KEPT_MS`, so that a late writer of an older version can't bring it back. A missing key is set too, since
   * readers may know the resource from elsewhere.
   */
  remove(key: string, version: number): Promise<boolean>
  /** All keys under `prefix`, to list and to watch. */
  source(prefix: string): WatchSource<ChangeHint>
}

/** Longer than any writer may be late. */
export const REMOVAL_KEPT_MS = 10 * 60_000

/** `last` is what the key held before. */
export const removalHint = (key: string, version: number, last?: ChangeHint): ChangeHint => ({
  id: last?.id ?? key.slice(key.lastIndexOf('/') + 1),
  version,
  updated_at: last?.updated_at ?? '',
  deleted: true,
})
