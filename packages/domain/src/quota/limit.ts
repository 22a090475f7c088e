import { z } from 'zod'

export const UNLIMITED = 'unlimited'

/** A word, because null resets a setting or a limit to its default. */
export const limitUpTo = (max: number) => z.union([z.int().min(0).max(max), z.literal(UNLIMITED)])
export type Limit = z.infer<ReturnType<typeof limitUpTo>>

export const SESSIONS_LIMIT = limitUpTo(10_000)
export const HORIZON_DAYS_LIMIT = limitUpTo(3650)
export const CORE_HOURS_LIMIT = limitUpTo(10_000_000)
