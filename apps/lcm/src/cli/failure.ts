import { ApiError, UnreachableError } from '@lcm/client/api-error'
import { SimRefusal } from '@lcm/client/sim-client'
import { CliError } from './exit-code.ts'
import { printable } from './terminal/table.ts'

export interface Failure {
  readonly sentence: string
  readonly details: readonly string[]
}

/** Said instead of the API's own words, which can not know that they are read at a command line. */
const OWN_WORDS: Readonly<Record<string, string>> = {
  validation_failed: 'LCM refuses these values: mend them and repeat',
  unauthenticated: 'LCM does not know who you are: give it a valid token with --token or LCM_TOKEN',
  template_not_found: 'there is no such template: `lcm get templates` lists them',
  definition_not_found: 'there is no such definition: `lcm get definitions` lists them',
  topology_invalid: 'this is no lab that CML could import: mend these lines and repeat',
  source_inline:
    'its topology was handed over, so there is nowhere to fetch it from: give another with `lcm edit definition NAME --file FILE`',
  worker_protected: 'this worker is protected: take that off with `lcm unprotect worker ID`, then repeat',
  worker_has_sessions:
    'sessions live on this worker: let them end with `lcm drain worker ID`, or repeat with --force to end them now',
  too_many_clients: 'LCM has too many event streams open: close another --watch or console, then repeat',
}

/** Added to the API's words, which say what is wrong but not what to do. */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  forbidden: 'ask an admin to do it, or for a role that may',
  already_exists: 'choose another, or change the one that is there',
  definition_not_active: 'only an ACTIVE definition can be booked, `lcm get definitions` lists them',
  worker_not_running: 'stop or terminate it as it is',
  unknown: 'check that --url is the address of an LCM',
}

/** Any error as one sentence for a person, with lines of details below it. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CliError) return { sentence: printable(error.message), details: error.details.map(printable) }
  if (error instanceof SimRefusal)
    return { sentence: printable(`the simulated cloud refused: ${error.message}`), details: [] }
  if (error instanceof UnreachableError) return { sentence: error.message, details: [] }
  if (error instanceof ApiError) return ofProblem(error)
  return { sentence: `a defect in lcm, please report it: ${defectIn(error)}`, details: [] }
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

/** Of a file one needs the line; the field of the request that held it says nothing. */
function lineText(field: string, message: string, line: number): string {
  const place = field.replace(/^topology\.?/, '')
  return `line ${line}: ${place === '' ? '' : `${place}: `}${message}`
}

/** With the place in the code, or nobody could mend it. */
function defectIn(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const place = error.stack?.split('\n').find(line => line.startsWith('    at '))
  return place === undefined ? String(error) : `${error} ${place.trim()}`
}
