const MARK = 'unschedulable: '

/** What a session says that no machine which could be had would take. */
export const unschedulable = (because: string): string => `${MARK}${because}`

/** Why a session can't be placed unless somebody changes something; null where it waits for what may come by itself. */
export const unschedulableBecause = (waitingReason: string | null): string | null =>
  waitingReason?.startsWith(MARK) ? waitingReason.slice(MARK.length) : null
