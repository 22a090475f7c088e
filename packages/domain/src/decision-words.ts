/** A pause that was thought of and did not come: its name tells which guard said no. */
export const isSkippedPause = (action: string): boolean => action.startsWith('skipped_')

/** Actions whose names are not what people would say. */
const WORDS: Readonly<Record<string, string>> = { write: 'noted', nothing: 'leave it', survey: 'visit' }

/** What a controller decided to do, or would do, in the words that people read everywhere. */
export const actionWords = (action: string): string =>
  isSkippedPause(action) ? 'not paused yet' : (WORDS[action] ?? action.replaceAll('_', ' '))
