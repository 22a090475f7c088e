/** Tokens are longer than any word. */
const LONG = /[A-Za-z0-9+/%=-]{40,}/g
const QUOTED_AFTER_TOKEN = /(token\W{1,3})(['"])[^'"]+\2/gi

/**
 * Removes the license token from CML's messages: CML quotes it when it rejects one, also in later
 * messages.
 */
export const redactLicenseTokens = (words: string): string =>
  words.replaceAll(LONG, '***').replaceAll(QUOTED_AFTER_TOKEN, '$1$2***$2')
