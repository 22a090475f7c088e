const PLAIN = /^[\w@%+:,./-]+$/

/** A name inside a command that people copy: a shell takes it as one word, and runs nothing that it says. */
export const shellWord = (text: string): string =>
  PLAIN.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
