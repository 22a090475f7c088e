import { ApiError, UnreachableError } from '@lcm/client/api-error'
import { SimRefusal } from '@lcm/client/sim-client'
import { CliError } from './exit-code.ts'
import { printable } from './terminal/table.ts'

export interface Failure {
  readonly sentence: string
  readonly details: readonly string[]
}

/** Replaces API messages where a command gives better advice. */
const OWN_WORDS: Readonly<Record<string, string>> = {
  validation_failed: 'invalid values: correct them and try again',
  unauthenticated: 'not authenticated: set a valid token with --token or LCM_TOKEN',
  template_not_found: 'template not found: list templates with `lcm get templates`',
  definition_not_found: 'definition not found: list definitions with `lcm get definitions`',
  topology_invalid: "CML can't import this file: fix these lines and try again",
  source_inline:
    'the definition has no source, because its topology was uploaded: upload another with `lcm edit definition NAME --file FILE`',
  worker_protected: 'the worker is protected: run `lcm unprotect worker ID` and try again',
  worker_has_sessions:
    'the worker has sessions: let them end with `lcm drain worker ID`, or add --force to end them now',
  too_many_clients: 'too many event streams are open: close another --watch or console and try again',
}

/** Next steps, appended to the message of the API. */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  forbidden: 'ask an admin to do it, or to give you a role that allows it',
  already_exists: 'choose another name, or change the existing one',
  definition_not_active: 'only ACTIVE definitions can be booked, list them with `lcm get definitions`',
  worker_not_running: 'stop or terminate it without draining',
  unknown: 'check that --url is the address of an LCM',
}

/** Converts any error to one sentence and lines of details. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CliError) return { sentence: printable(error.message), details: error.details.map(printable) }
  if (error instanceof SimRefusal)
    return { sentence: printable(`the simulated cloud refused: ${error.message}`), details: [] }
  if (error instanceof UnreachableError) return { sentence: error.message, details: [] }
  if (error instanceof ApiError) return ofProblem(error)
  return { sentence: `internal error in lcm, please report it: ${defectIn(error)}`, details: [] }
}

function ofProblem({ problem }: ApiError): Failure {
  const said = printable(problem.detail).replace(/\.$/, '')
  const next = NEXT_STEPS[problem.code]
  return {
    sentence: OWN_WORDS[problem.code] ?? (next === undefined ? said : `${said}: ${next}`),
    details: (problem.errors ?? []).map(fieldLine),
  }
}

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
