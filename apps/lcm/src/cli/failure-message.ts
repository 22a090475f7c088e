import { ApiError, UnreachableError } from '@lcm/client/client'
import { SimRefusal } from '@lcm/client/sim-client'
import { CliError } from './cli-error.ts'
import { ConnectionError } from './connection.ts'
import { printable } from './terminal/table.ts'

export interface Failure {
  /** What failed, and why. */
  readonly message: string
  /** What to do; null if nothing helps, or the message of the API already says it. */
  readonly advice: string | null
  readonly details: readonly string[]
}

/** One line for a failure. */
export const failureText = ({ message, advice }: Pick<Failure, 'message' | 'advice'>): string =>
  advice === null ? message : `${message}: ${advice}`

/** Replaces API messages where a command gives better advice. */
const OWN_WORDS: Readonly<Record<string, readonly [message: string, advice: string]>> = {
  validation_failed: ['invalid values', 'correct them and try again'],
  unauthenticated: ['not authenticated', 'set a valid token with --token or LCM_TOKEN'],
  template_not_found: ['template not found', 'list templates with `lcm get templates`'],
  definition_not_found: ['definition not found', 'list definitions with `lcm get definitions`'],
  topology_invalid: ["CML can't import this file", 'fix these lines and try again'],
  source_inline: [
    'the definition has no source, because its topology was uploaded',
    'upload another with `lcm edit definition NAME --file FILE`',
  ],
  worker_protected: ['the worker is protected', 'run `lcm unprotect worker ID` and try again'],
  worker_has_sessions: [
    'the worker has sessions',
    'let them end with `lcm drain worker ID`, or add --force to end them now',
  ],
  too_many_clients: ['too many event streams are open', 'close another --watch or console and try again'],
}

/** Added to the message of the API. */
const ADVICE: Readonly<Record<string, string>> = {
  forbidden: 'ask an admin to do it, or to give you a role that allows it',
  already_exists: 'choose another name, or change the existing one',
  definition_not_active: 'only ACTIVE definitions can be booked, list them with `lcm get definitions`',
  worker_not_running: 'stop or terminate it without draining',
  save_not_found: 'list saves with `lcm get saves`',
  save_in_use: 'cancel that session, or wait for its end',
  save_unreadable: 'use an older save, or ask an operator to restore the secret key',
  saves_disabled: 'ask the author of the definition to set `saves_enabled`',
  unknown: 'check that --url is the address of an LCM',
}

/** Converts any error to what failed, what to do and lines of details. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CliError) {
    const advice = error.advice === null ? null : printable(error.advice)
    return { message: printable(error.message), advice, details: error.details.map(printable) }
  }
  if (error instanceof SimRefusal) return plain(printable(`the simulated cloud refused: ${error.message}`))
  if (error instanceof ConnectionError) return plain(error.message, error.advice)
  if (error instanceof UnreachableError) return plain(error.message)
  if (error instanceof ApiError) return ofProblem(error)
  return plain(`internal error in lcm, please report it: ${defectIn(error)}`)
}

const plain = (message: string, advice: string | null = null): Failure => ({ message, advice, details: [] })

function ofProblem({ problem }: ApiError): Failure {
  const [message, advice] = OWN_WORDS[problem.code] ?? [unended(problem.detail), ADVICE[problem.code] ?? null]
  return { message, advice, details: (problem.errors ?? []).map(fieldLine) }
}

/** Without a final period, so that advice can follow. */
const unended = (text: string): string => printable(text).replace(/\.$/, '')

type FieldError = NonNullable<ApiError['problem']['errors']>[number]

function fieldLine({ path, message, line }: FieldError): string {
  const field = path.replace(/^body\.?/, '') || '(all)'
  return printable(line === undefined ? `${field}: ${message}` : lineText(field, message, line))
}

/** Names the line of the file; the request field that carried the file is of no interest. */
function lineText(field: string, message: string, line: number): string {
  const place = field.replace(/^topology\.?/, '')
  return `line ${line}: ${place === '' ? '' : `${place}: `}${message}`
}

/** Includes the first stack frame, which locates the error. */
function defectIn(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const place = error.stack?.split('\n').find(line => line.startsWith('    at '))
  return place === undefined ? String(error) : `${error} ${place.trim()}`
}
