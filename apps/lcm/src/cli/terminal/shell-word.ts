const PLAIN = /^[\w@%+:,./-]+$/

/** Quotes a name for a command line that users copy. */
export const shellWord = (text: string): string =>
  PLAIN.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
