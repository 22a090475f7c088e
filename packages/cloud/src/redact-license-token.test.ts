import { expect, it } from 'vitest'
import { redactLicenseTokens } from './redact-license-token.ts'

it.each([
  [`{"token":["The token 'short-one' is not valid."]}`, `{"token":["The token '***' is not valid."]}`],
  [`The token "a b" is not valid.`, `The token "***" is not valid.`],
  [`refused: ${'Nz'.repeat(30)}%0A`, 'refused: ***'],
  ['Communication send error.', 'Communication send error.'],
  ["the product 'CML_Personal' is not known", "the product 'CML_Personal' is not known"],
])('a license token is never repeated: %s', (words, redacted) => {
  expect(redactLicenseTokens(words)).toBe(redacted)
})
