export interface AccessLimits {
  /** Sustained rate of one person or script. */
  readonly requestsPerSecond: number
  /** Requests above the sustained rate that are allowed at once. */
  readonly burst: number
  /** Factor by which controllers may exceed both. */
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
