import { CloudError, type CloudErrorClass } from '@lcm/cloud/errors'
import { DeadlineError } from '../cloud-call.ts'
import type { HttpResponse } from './http-client.ts'
import { jsonIn, listOf, recordIn, textIn } from './json-readers.ts'

const WORDS_CHARS_MAX = 500
/** Shorter ones are in every text. */
const SECRET_CHARS_MIN = 4
const HIDDEN = '***'

/** Passwords and tokens that must not appear in messages. */
export type Secrets = readonly string[]

export function redactSecrets(text: string, secrets: Secrets): string {
  const spelled = secrets.flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1)])
  return spelled
    .filter(secret => secret.length >= SECRET_CHARS_MIN)
    .reduce((cut, secret) => cut.replaceAll(secret, HIDDEN), text)
}

/** Any failure as a CloudError. It has no cause, because errors of the network may hold what was sent. */
export function toCmlError(action: string, error: unknown, secrets: Secrets): CloudError {
  if (error instanceof CloudError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new CloudError('transient', { code: codeOf(error), action, message: shown(message, secrets) })
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Unknown'
  if (error instanceof DeadlineError) return error.late ? 'TimeoutError' : 'AbortError'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

export const malformedResponse = (action: string, message: string): CloudError =>
  new CloudError('transient', { code: 'MalformedAnswer', action, message })

export interface Refusal {
  readonly action: string
  readonly secrets: Secrets
  /** The ids that the request named. Only a 404 that names one of them says that it is not there. */
  readonly ids: readonly string[]
}

/** The answer of a call that did not succeed, as an error. */
export function errorFromResponse(answer: HttpResponse, { action, secrets, ids }: Refusal): CloudError {
  const words = cmlMessage(answer)
  const message = shown(words ?? `answered ${answer.status}`, secrets)
  const isEmpty = answer.text === ''
  const code = `HTTP${answer.status}`
  if (answer.status === 404) {
    const isNamed = ids.some(id => words?.toLowerCase().includes(id.toLowerCase()))
    // Without ids in the request, it is the call itself that this server does not support.
    const isUnknownCall = ids.length === 0 && words !== null
    return new CloudError(isNamed ? 'not_found' : isUnknownCall ? 'invalid' : 'transient', { code, action, message })
  }
  return new CloudError(classOf(answer.status, words !== null || isEmpty), { code, action, message })
}

/** A page of a gateway decides nothing but what gateways decide. */
function classOf(status: number, isOfCml: boolean): CloudErrorClass {
  if (status === 429) return 'throttled'
  if (status === 413) return 'invalid'
  if (!isOfCml) return 'transient'
  if (status === 401 || status === 403) return 'auth'
  if (status === 409) return 'state'
  return status >= 400 && status < 500 && status !== 408 ? 'invalid' : 'transient'
}

/** CML's own words in an answer, or null when it holds none. */
export function cmlMessage({ text }: HttpResponse): string | null {
  const description = textIn(jsonIn(text), 'description')
  return description === null ? null : validationWords(description)
}

/** Failed validations are told as JSON within the text. */
function validationWords(description: string): string {
  const groups = recordIn(jsonIn(description))
  if (groups === null) return description
  const told = Object.entries(groups).map(([title, problems]) => {
    const each = listOf(problems).map(problem => {
      const place = listOf(recordIn(problem)?.location).filter(part => typeof part !== 'object')
      return [place.join('.'), textIn(problem, 'message') ?? ''].filter(part => part !== '').join(': ')
    })
    return `${title}: ${each.join('; ')}`
  })
  return told.join('; ')
}

/** One line of bounded length. The secrets are cut out first, lest half of one stays at the end. */
function shown(text: string, secrets: Secrets): string {
  const line = redactSecrets(text, secrets)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return line.length > WORDS_CHARS_MAX ? `${line.slice(0, WORDS_CHARS_MAX)}…` : line
}
