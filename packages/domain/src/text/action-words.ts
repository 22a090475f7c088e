import { healthOfAction } from '../health.ts'

/** A pause that was considered and rejected: its name has the guard that failed. */
export const isSkippedPause = (action: string): boolean => action.startsWith('skipped_')

/** In a plan: a request is not fulfilled, and no controller can act before an operator does. */
export const MANUAL = 'manual'

/** The kind of a planned action: to do, to wait for, or blocked until an operator acts. */
export function planKindOf(action: string): 'act' | 'wait' | 'blocked' {
  if (action === MANUAL) return 'blocked'
  return action === 'wait' || action === 'retry' ? 'wait' : 'act'
}

/** `2 things to do, 1 waiting, 1 blocked`, without the counts that are zero. */
export function planCounts(items: readonly { readonly action: string }[]): string {
  const count = (kind: ReturnType<typeof planKindOf>) =>
    items.filter(({ action }) => planKindOf(action) === kind).length
  const [acts, waits, blocked] = [count('act'), count('wait'), count('blocked')]
  const parts = [
    ...(acts === 0 ? [] : [`${acts} ${acts === 1 ? 'thing' : 'things'} to do`]),
    ...(waits === 0 ? [] : [`${waits} waiting`]),
    ...(blocked === 0 ? [] : [`${blocked} blocked`]),
  ]
  return parts.length === 0 ? 'nothing to do' : parts.join(', ')
}

/** Actions that are shown with other words than their names. */
const WORDS: Readonly<Record<string, string>> = {
  write: 'noted',
  nothing: 'no change',
  survey: 'visit',
  [MANUAL]: 'needs a person',
}

/** The action of a decision or a plan, as the CLI and the console show it. */
export function actionWords(action: string): string {
  if (isSkippedPause(action)) return 'not paused yet'
  const health = healthOfAction(action)
  return health === null ? (WORDS[action] ?? action.replaceAll('_', ' ')) : `became ${health}`
}
