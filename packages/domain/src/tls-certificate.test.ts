import { expect, it } from 'vitest'
import { certificateProblem } from './tls-certificate.ts'

const DAY_MS = 86_400_000
const ends = (lifeDays: number) => ({ file: '/tls.crt', validFromMs: 0, validToMs: lifeDays * DAY_MS })
const atDay = (lifeDays: number, day: number) => certificateProblem(ends(lifeDays), day * DAY_MS)?.message ?? null

it('warns 14 days before a certificate expires, and says when it has expired', () => {
  expect(atDay(90, 75)).toBeNull()
  expect(atDay(90, 76)).toBe('the TLS certificate in /tls.crt expires at 1970-04-01 00:00 UTC')
  expect(atDay(90, 90)).toBe('the TLS certificate in /tls.crt expired at 1970-04-01 00:00 UTC')
})

it('warns in the last third of the life of a short-lived certificate', () => {
  expect(atDay(3, 1.9)).toBeNull()
  expect(atDay(3, 2)).toMatch(/expires at/)
})
