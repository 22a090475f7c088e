export interface AccessLimits {
  /** What a person or script may ask for in the long run. */
  readonly requestsPerSecond: number
  /** How far it may run ahead of that. */
  readonly burst: number
  /** Controllers may do so many times as much. */
  readonly controllerFactor: number
  readonly actorsMax: number
  /** Wrong tokens and login links from one address. */
  readonly failuresPerMinute: number
  readonly addressesMax: number
}

export const ACCESS_LIMITS: AccessLimits = {
  requestsPerSecond: 1_000,
  burst: 2_000,
  controllerFactor: 10,
  actorsMax: 10_000,
  failuresPerMinute: 20,
  addressesMax: 10_000,
}
