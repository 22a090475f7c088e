import { expect, it } from 'vitest'
import type { Reason } from '../../../reason.ts'
import { redactReason } from '../../../redact-reason.ts'

export type MessageRow = readonly [Reason, message: string]

/** Tests the message of every row, and that each code of the catalog has one. */
export function checkMessages(catalog: object, rows: readonly MessageRow[]): void {
  it.each(rows.map(([{ code, params, message }, expected]) => [code, params, expected, message] as const))(
    '%s %o: %s',
    (_code, _params, expected, message) => {
      expect(message).toBe(expected)
    },
  )

  /** A param that selects the words of a message must be one of those that users may read. */
  it('has messages that stay readable without the names of infrastructure', () => {
    for (const [reason] of rows) {
      const { code, message } = redactReason(reason)
      expect(code).toBe(reason.code)
      expect(message, code).not.toMatch(/undefined|NaN|object Object/)
    }
  })

  it('has a row for every code, and no other row', () => {
    expect(new Set(rows.map(([{ code }]) => code))).toEqual(new Set(Object.keys(catalog)))
  })
}
