import type { WatchSource } from '@lcm/runtime'

/** What a change key holds: enough to decide whether to wake, never a secret, never the resource itself. */
export interface ChangeHint {
  readonly id: string
  readonly version: number
  readonly updated_at: string
  readonly status?: string
  readonly desired_status?: string
}

/** Keys such as `/lcm/workers/<id>` that change whenever the resource behind them does. */
export interface ChangeKeys {
  /** Sets the key unless it already holds this version or a newer one; answers whether it was set. */
  publish(key: string, hint: ChangeHint): Promise<boolean>
  /** Removes the key unless it holds a version newer than `version`; answers whether it was removed. */
  remove(key: string, version: number): Promise<boolean>
  /** All keys under `prefix`, to list and to watch. */
  source(prefix: string): WatchSource<ChangeHint>
}
