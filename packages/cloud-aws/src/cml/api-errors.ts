import { CloudError, type CloudErrorClass } from '@lcm/cloud/errors'
import { DeadlineError } from '../cloud-call.ts'
import type { HttpResponse } from './http-client.ts'
import { jsonIn, listOf, recordIn, textIn } from './json-readers.ts'

const WORDS_CHARS_MAX = 500
/** Shorter secrets would match in any text. */
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

/** Any failure as a CloudError. It has no cause, because network errors may contain the request. */
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
  /** Ids in the request. Only a 404 that names one of them proves that it is missing. */
  readonly ids: readonly string[]
}

/** Error of an unsuccessful response. */
export function errorFromResponse(answer: HttpResponse, { action, secrets, ids }: Refusal): CloudError {
  const words = cmlMessage(answer)
  const message = shown(words ?? `answered ${answer.status}`, secrets)
  const isEmpty = answer.text === ''
  const code = `HTTP${answer.status}`
  if (answer.status === 404) {
    const isNamed = ids.some(id => words?.toLowerCase().includes(id.toLowerCase()))
    // Without ids in the request, this server does not support the call itself.
    const isUnknownCall = ids.length === 0 && words !== null
    return new CloudError(isNamed ? 'not_found' : isUnknownCall ? 'invalid' : 'transient', { code, action, message })
  }
  return new CloudError(classOf(answer.status, words !== null || isEmpty), { code, action, message })
}

/** A gateway's page counts only for gateway errors. */
function classOf(status: number, isOfCml: boolean): CloudErrorClass {
  if (status === 429) return 'throttled'
  if (status === 413) return 'invalid'
  if (!isOfCml) return 'transient'
  if (status === 401 || status === 403) return 'auth'
  if (status === 409) return 'state'
  return status >= 400 && status < 500 && status !== 408 ? 'invalid' : 'transient'
}

/** CML's message in a response, or null. */
export function cmlMessage({ text }: HttpResponse): string | null {
  const description = textIn(jsonIn(text), 'description')
  return description === null ? null : validationWords(description)
}

/** Validation errors are JSON within the text. */
function validationWords(description: string): string {
  const groups = recordIn(jsonIn(description))
  if (groups === null) return description
  const messages = Object.entries(groups).map(([title, problems]) => {
    const each = listOf(problems).map(problem => {
      const place = listOf(recordIn(problem)?.location).filter(part => typeof part !== 'object')
      return [place.join('.'), textIn(problem, 'message') ?? ''].filter(part => part !== '').join(': ')
    })
    return `${title}: ${each.join('; ')}`
  })
  return messages.join('; ')
}

/** One line of bounded length. Secrets are removed first, so that no part of one remains at the end. */
function shown(text: string, secrets: Secrets): string {
  const line = redactSecrets(text, secrets)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return line.length > WORDS_CHARS_MAX ? `${line.slice(0, WORDS_CHARS_MAX)}…` : line
}
