/** Tokens are longer than any word. */
const LONG = /[A-Za-z0-9+/%=-]{40,}/g
const QUOTED_AFTER_TOKEN = /(token\W{1,3})(['"])[^'"]+\2/gi

/** What CML says of a licence, without the token: it quotes it when it refuses one, whoever sent it and whenever that was. */
export const withoutTokens = (words: string): string =>
  words.replaceAll(LONG, '***').replaceAll(QUOTED_AFTER_TOKEN, '$1$2***$2')
