/** A pause that was thought of and did not come: its name tells which guard said no. */
export const isSkippedPause = (action: string): boolean => action.startsWith('skipped_')

/** In a plan: a wish is not fulfilled, and no controller does anything about it before a person does. */
export const MANUAL = 'manual'

/** What a planned action is: something to do, something to wait for, or blocked until a person acts. */
export function planKindOf(action: string): 'act' | 'wait' | 'blocked' {
  if (action === MANUAL) return 'blocked'
  return action === 'wait' || action === 'retry' ? 'wait' : 'act'
}

/** `2 things to do, 1 to wait for, 1 blocked`, or what of that there is. */
export function planCounts(items: readonly { readonly action: string }[]): string {
  const count = (kind: ReturnType<typeof planKindOf>) =>
    items.filter(({ action }) => planKindOf(action) === kind).length
  const [acts, waits, blocked] = [count('act'), count('wait'), count('blocked')]
  const parts = [
    ...(acts === 0 ? [] : [`${acts} ${acts === 1 ? 'thing' : 'things'} to do`]),
    ...(waits === 0 ? [] : [`${waits} to wait for`]),
    ...(blocked === 0 ? [] : [`${blocked} blocked`]),
  ]
  return parts.length === 0 ? 'nothing to do' : parts.join(', ')
}

/** Actions whose names are not what people would say. */
const WORDS: Readonly<Record<string, string>> = {
  write: 'noted',
  nothing: 'leave it',
  survey: 'visit',
  [MANUAL]: 'needs a person',
}

/** What a controller decided to do, or would do, in the words that people read everywhere. */
export const actionWords = (action: string): string =>
  isSkippedPause(action) ? 'not paused yet' : (WORDS[action] ?? action.replaceAll('_', ' '))
