import type { CmlEndpoint, CmlLogin } from '@lcm/cloud/cml-login'
import { CloudError, type CloudErrorClass } from '@lcm/cloud/errors'
import { CML_STAGES, type CmlStage } from '@lcm/domain/worker/boot-stages'
import type { CmlAnswer, CmlRequest } from '../cml/http-messages.ts'
import type { SimModel } from '../sim-model.ts'
import { recordIn, textIn } from './json-readers.ts'

/** One call of a client. */
export interface CmlCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON, unless it is `text`. */
  readonly json?: unknown
  readonly text?: string
  /** Status codes that count as success besides 2xx. */
  readonly expected?: readonly number[]
}

export interface CmlSessions {
  /** Calls within a session: opened if there is none, and once more if the server no longer knows it. */
  ask(login: CmlLogin, ask: CmlCall, signal: AbortSignal): CmlAnswer
  /** Owner of the session. */
  userId(login: CmlLogin, signal: AbortSignal): string | null
}

interface Session {
  readonly token: string
  readonly user_id: string | null
}

const UNAUTHORIZED = 401

/** Sessions on the model, without sockets or timers. */
export function cmlLogins(model: SimModel): CmlSessions {
  const sessions = new Map<string, Session>()

  function session(login: CmlLogin, instanceId: string): Session {
    const key = JSON.stringify([login.url, login.username, login.password])
    const known = sessions.get(key)
    if (known) return known
    const opened = opensSession(model, instanceId, login)
    sessions.set(key, opened)
    return opened
  }

  function forget(login: CmlLogin): void {
    sessions.delete(JSON.stringify([login.url, login.username, login.password]))
  }

  return {
    ask(login, ask, signal) {
      const action = `${ask.method} ${ask.path}`
      const instanceId = reached(model, login, { action, signal })
      const send = () => model.cml.call(instanceId, requestOf(ask, session(login, instanceId).token))
      let answer = send()
      if (answer.status === UNAUTHORIZED) {
        forget(login)
        answer = send()
      }
      const isFine = Math.floor(answer.status / 100) === 2 || ask.expected?.includes(answer.status)
      if (!isFine) throw refused(action, answer)
      return answer
    },
    userId(login, signal) {
      return session(login, reached(model, login, { action: 'POST /auth_extended', signal })).user_id
    },
  }
}

const reaches = (stage: CmlStage, wanted: CmlStage) => CML_STAGES.indexOf(stage) >= CML_STAGES.indexOf(wanted)

interface Asking {
  readonly action: string
  readonly signal: AbortSignal
}

/** The machine at that endpoint, if it is there and has the expected certificate. */
function reached(model: SimModel, { url, certificate_sha256: pin }: CmlEndpoint, { action, signal }: Asking): string {
  const failed = (code: string, message: string) => new CloudError('transient', { code, action, message })
  if (signal.aborted) throw failed('AbortError', 'it was canceled')
  const instanceId = model.cml.reachedAt(url)
  if (instanceId === null || !reaches(model.cml.stageOf(instanceId), 'TLS')) {
    throw failed('ECONNREFUSED', 'connection refused')
  }
  const seen = model.cml.fingerprintOf(instanceId)
  if (pin !== null && pin !== seen)
    throw failed('CertificateMismatch', `the certificate is ${seen}, not the pinned ${pin}`)
  return instanceId
}

function requestOf({ method, path, query = {}, json, text }: CmlCall, token: string | null): CmlRequest {
  const body = text ?? (json === undefined ? '' : JSON.stringify(json))
  return { method, path, query: new URLSearchParams(query), token, body }
}

function opensSession(model: SimModel, instanceId: string, { username, password }: CmlLogin): Session {
  const ask = { method: 'POST', path: '/auth_extended', json: { username, password } } as const
  const answer = model.cml.call(instanceId, requestOf(ask, null))
  if (answer.status !== 200) throw refused('POST /auth_extended', answer)
  const body = recordIn(answer.body)
  return { token: textIn(body.token) ?? '', user_id: textIn(body.id) }
}

function refused(action: string, { status, body }: CmlAnswer): CloudError {
  const words = textIn(recordIn(body).description)
  const about = { code: `HTTP${status}`, action, message: words ?? `answered ${status}` }
  return new CloudError(classOf(status, words), about)
}

/** Only a 404 with CML's message means that the resource doesn't exist. */
function classOf(status: number, words: string | null): CloudErrorClass {
  if (status === 429) return 'throttled'
  if (status === 404) return words?.includes('not found: ') ? 'not_found' : 'transient'
  if (status === 401 || status === 403) return 'auth'
  if (status === 409) return 'state'
  return status >= 400 && status < 500 ? 'invalid' : 'transient'
}
