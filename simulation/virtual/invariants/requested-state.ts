import type { ApiRequest, Dispatch } from '@lcm/contract/wire'
import type { DesiredStatus, Worker } from '@lcm/domain/worker/worker'
import { type SettingsHistory, settingsHistory } from './settings-history.ts'

/** What people asked of each worker: the last wishes, and when somebody last touched it. */
export interface RequestedState {
  /** The API as people meet it. */
  heard(dispatch: Dispatch): Dispatch
  /** Desired states recorded for users that no user requested. */
  unheardOf(worker: Worker): readonly string[]
  /** A wish that was taken and came to nothing, for when all has come to rest. */
  forgotten(worker: Worker): readonly string[]
  lastTouchedMs(workerId: string): number
  readonly settings: Pick<SettingsHistory, 'leastAt'>
}

const WISHED: Readonly<Record<string, DesiredStatus>> = { start: 'RUNNING', stop: 'STOPPED', terminate: 'TERMINATED' }
const TOUCH = /\/workers\/(w-[^/?]+)(?:\/([a-z-]+))?/
/** The last one, and those that it may have met on its way. */
const WISHES_KEPT = 4

type Answer = 'taken' | 'refused' | 'unknown'
/** A refused request has no effect; after a server error the effect is unknown. */
const answerOf = (status: number): Answer => (status < 300 ? 'taken' : status < 500 ? 'refused' : 'unknown')

export function requestedState(people: readonly string[], now: () => number): RequestedState {
  const recent = recentWishes()
  const last = lastWishes()
  const touchedMs = new Map<string, number>()
  const settings = settingsHistory(now)

  /** Callback that receives the status of the answer. */
  function noted(request: ApiRequest, id: string, verb: string): ((answer: Answer) => void)[] {
    const body = () => JSON.parse(request.body ?? '{}')
    const isDrain = verb === 'drain'
    const status: DesiredStatus | undefined = isDrain ? (body().then ?? 'STOPPED') : WISHED[verb]
    if (id !== '' && status !== undefined) return [recent.wish(request, id, status), last.wish(id, status, isDrain)]
    const isSetting = request.method === 'PATCH' && request.url.endsWith('/settings')
    return isSetting ? [settings.said(body())] : []
  }

  return {
    settings,
    lastTouchedMs: id => touchedMs.get(id) ?? Number.NEGATIVE_INFINITY,
    heard: dispatch => async request => {
      if (request.method === 'GET') return dispatch(request)
      const [, id = '', verb = ''] = TOUCH.exec(request.url) ?? []
      const touch = () => void (id !== '' && touchedMs.set(id, now()))
      const settled = noted(request, id, verb)
      touch()
      let answer: Answer = 'unknown'
      try {
        const response = await dispatch(request)
        answer = answerOf(response.status)
        return response
      } finally {
        touch()
        for (const settle of settled) settle(answer)
      }
    },
    unheardOf({ id, name, desired_by, desired_status }) {
      if (!people.includes(desired_by)) return []
      return recent.of(id).includes(desired_status)
        ? []
        : [`${name} is wanted ${desired_status} by ${desired_by}, who never said so`]
    },
    forgotten({ id, name, desired_by, desired_status }) {
      if (!people.includes(desired_by)) return []
      const possible = last.of(id)
      return possible.includes(desired_status)
        ? []
        : [`${name} is wanted ${desired_status}, and the last word of ${desired_by} was ${possible.join(' or ')}`]
    },
  }
}

/** What was wished of each worker in the last while, the newest last. */
function recentWishes() {
  const wished = new Map<string, readonly DesiredStatus[]>()
  const repeated = new Map<string, { readonly settle: (answer: Answer) => void; isDoubtful: boolean }>()

  /** Noted before it is answered, since its event may come sooner than the answer. */
  function noted(id: string, status: DesiredStatus): (answer: Answer) => void {
    const before = wished.get(id)
    const after = before?.at(-1) === status ? before : [...(before ?? ['RUNNING' as const]), status].slice(-WISHES_KEPT)
    wished.set(id, after)
    return answer => {
      // More may have been wished since.
      if (answer !== 'refused' || wished.get(id) !== after) return
      if (before === undefined) wished.delete(id)
      else wished.set(id, before)
    }
  }

  return {
    of: (id: string) => wished.get(id) ?? ['RUNNING' as const],
    /**
     * However often a request is repeated, it is one wish; and where one try was not answered, a refusal of the next says nothing
     * of it.
     */
    wish({ headers }: ApiRequest, id: string, status: DesiredStatus): (answer: Answer) => void {
      const key = headers['idempotency-key'] ?? ''
      const known = repeated.get(key) ?? { settle: noted(id, status), isDoubtful: false }
      if (key !== '') repeated.set(key, known)
      return answer => {
        known.isDoubtful ||= answer === 'unknown'
        if (!known.isDoubtful) known.settle(answer)
      }
    },
  }
}

/** The wish of each worker that was taken last. Where several were on their way at once any of them may have been that. */
function lastWishes() {
  const taken = new Map<string, readonly DesiredStatus[]>()
  const underWay = new Map<string, number>()
  const of = (id: string) => taken.get(id) ?? ['RUNNING' as const]
  return {
    of,
    /** A drain may be taken back, and then what was wanted before it holds. */
    wish(id: string, status: DesiredStatus, mayBeTakenBack: boolean): (answer: Answer) => void {
      const isAlone = () => (underWay.get(id) ?? 0) === 0
      const wasAlone = isAlone()
      underWay.set(id, (underWay.get(id) ?? 0) + 1)
      return answer => {
        underWay.set(id, (underWay.get(id) ?? 0) - 1)
        if (answer === 'refused') return
        const isLast = answer === 'taken' && wasAlone && isAlone() && !mayBeTakenBack
        taken.set(id, isLast ? [status] : [...new Set([...of(id), status])])
      }
    },
  }
}
