/** The window and the share that every automatic loss is held to. */
const WINDOW_MS = 3_600_000
const SHARE_MAX = 0.2
const ALWAYS_ALLOWED = 2

/** What was done lately, oldest first, in milliseconds. */
export type Losses = readonly number[]

export const recentLosses = (losses: Losses, nowMs: number): number[] => losses.filter(at => nowMs - at < WINDOW_MS)

/**
 * Whether one more machine of a fleet of this size may be given up now. Machines rarely vanish by the dozen: a wrong account,
 * a wrong tag or a cloud that forgets is more likely, and waiting costs less.
 */
export const mayLose = (losses: Losses, fleetSize: number, nowMs: number): boolean =>
  recentLosses(losses, nowMs).length < allowedLosses(fleetSize)

export const allowedLosses = (fleetSize: number): number => Math.max(ALWAYS_ALLOWED, Math.floor(fleetSize * SHARE_MAX))
