import type { CmlFaults, FaultState, FaultValue, NextFault } from '@lcm/client/sim-client'
import { CliError, EXIT } from '../cli-error.ts'

const error = (code: string, status: number): NextFault => ({ error: { code, status } })

/** Faults for the next calls of an AWS action. */
export const NEXT_FAULTS: Readonly<Record<string, NextFault>> = {
  throttled: error('RequestLimitExceeded', 503),
  'no-capacity': error('InsufficientInstanceCapacity', 500),
  unauthorized: error('UnauthorizedOperation', 403),
  'internal-error': error('InternalError', 500),
  'lost-answer': { fault: 'lost_answer' },
  'lost-request': { fault: 'lost_request' },
  held: { fault: 'held' },
  empty: { fault: 'empty' },
  truncated: { fault: 'truncated' },
  html: { fault: 'html' },
}

export const CML_FAULTS: Readonly<Record<string, CmlFaults>> = {
  fail: { fail_one_in: 1 },
  cut: { network: 'cut' },
  expire: { session_lifetime_factor: 0.0001 },
}

/** Parses arguments such as `lost_answer_rate=0.3`. The simulator validates names and values. */
export function faultsIn(words: readonly string[]): Record<string, FaultValue> {
  return Object.fromEntries(
    words.map(word => {
      const cut = word.indexOf('=')
      if (cut > 0) return [word.slice(0, cut), valueIn(word.slice(cut + 1))]
      const advice = 'use NAME=VALUE such as lost_answer_rate=0.3, or --clear'
      throw new CliError(EXIT.usage, `invalid fault "${word}"`, advice)
    }),
  )
}

function valueIn(text: string): FaultValue {
  if (text === 'null') return null
  if (text === 'true' || text === 'false') return text === 'true'
  return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
}

/** The values that reset these faults to the preset. */
export function asInPreset(names: readonly string[], preset: FaultState['plan'] | undefined) {
  return Object.fromEntries(
    names.map(name => {
      const value = preset?.[name]
      if (value !== undefined) return [name, value]
      const advice = '`lcm chaos list` shows the active faults, docs/reference/simulator.md all of them'
      throw new CliError(EXIT.notFound, `unknown fault ${name}`, advice)
    }),
  )
}
