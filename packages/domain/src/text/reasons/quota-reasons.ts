/** Until when the limit is used up; null if nothing frees it. */
type FreesAt = string | null

/** Why a booking exceeds a quota. The reader is the person who books. */
export const QUOTA_REASONS = {
  quota_live_sessions: ({ used, limit }: { used: number; limit: number; frees_at: FreesAt }) =>
    limit === 0
      ? "You can't open sessions; ask an operator"
      : `You have ${used} of ${limit} sessions open; cancel one or ask an operator`,
  quota_same_time: ({ used, limit }: { used: number; limit: number; frees_at: FreesAt }) =>
    `You have ${used} of ${limit} sessions at that time; choose another time, cancel one or ask an operator`,
  quota_future_sessions: ({ used, limit }: { used: number; limit: number; frees_at: FreesAt }) =>
    limit === 0
      ? "You can't book sessions in advance; ask an operator"
      : `You have ${used} of ${limit} future sessions booked; cancel one or ask an operator`,
  quota_horizon: ({ days, limit }: { days: number; limit: number }) =>
    `The slot starts in ${days} days; you can book up to ${limit} days ahead`,
  quota_core_hours: (hours: { needed: number; used: number; limit: number; week: string; frees_at: FreesAt }) =>
    `The session needs ${hours.needed} core-hours in the week of ${hours.week}, and you have used ${hours.used} of ` +
    `${hours.limit}; book a shorter session or ask an operator`,
}
