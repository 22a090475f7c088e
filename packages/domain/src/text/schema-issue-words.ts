import type { z } from 'zod'

type Issue = z.core.$ZodIssue

/** The words of the validator, where a schema has none of its own. */
const VALIDATORS_OWN = /^(Too small|Too big|Invalid|Unrecognized key)/

/** Whether the value is missing. */
export const isMissing = (issue: Issue): boolean =>
  issue.code === 'invalid_type' && issue.message.endsWith('received undefined')

/** Explains a schema issue by the allowed values: by the message of the schema, else by our own. */
export function issueWords(issue: Issue): string {
  if (!VALIDATORS_OWN.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return isMissing(issue)
        ? `it is missing, ${typeWords(issue.expected)}`
        : `it must be ${typeWords(issue.expected)}`
    case 'too_small':
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${amountOf(issue.origin, issue.minimum)}`
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${amountOf(issue.origin, issue.maximum)}`
    case 'invalid_value':
      return issue.values.length === 1
        ? `it must be ${String(issue.values[0])}`
        : `one of ${issue.values.map(String).join(', ')}`
    case 'unrecognized_keys':
      return `LCM knows nothing of ${issue.keys.join(', ')} here`
    case 'invalid_key':
      return issue.issues[0] === undefined ? 'such a name is not allowed' : issueWords(issue.issues[0])
    case 'invalid_union':
      return 'it is none of what is allowed here'
    default:
      return 'it is not as it should be'
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'fields with values',
  record: 'fields with values',
  null: 'nothing',
}

const typeWords = (expected: string): string => TYPES[expected] ?? `a ${expected}`

const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
  set: ['entry', 'entries'],
  object: ['field', 'fields'],
}

function amountOf(origin: string, limit: number | bigint): string {
  const unit = UNITS[origin]
  return unit === undefined ? String(limit) : `${limit} ${unit[Number(limit) === 1 ? 0 : 1]}`
}
