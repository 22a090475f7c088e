import { UnreachableError } from '@lcm/client/api-error'
import { apiClient, type Client } from '@lcm/client/client'
import { CHANGE_KEYS } from '@lcm/contract/resource-kinds'
import type { RouteName } from '@lcm/contract/routes'
import type { ApiRequest, ApiResponse } from '@lcm/contract/wire'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { type Received, receivedOf } from '@lcm/testkit/api-calls'
import { ANSWERS } from './fake-answers.ts'

export interface FakeState {
  readonly clock: Pick<Clock, 'now'>
  readonly workers: Map<string, Worker>
  readonly sessions: Map<string, LabletSession>
  readonly labs: Map<string, LabRecord>
  readonly definitions: Map<string, LabletDefinition>
  saveSession(session: LabletSession): LabletSession
}

/** The API as a lablet-controller meets it: guarded writes, the contract's schemas, a ledger, and bad days on demand. */
export interface FakeApi extends FakeState {
  readonly client: Client
  readonly received: Received[]
  session(id: string): LabletSession
  callsOf(name: RouteName): readonly Received[]
  setAway(isAway: boolean): void
  /** Is called before every answer, for what others do meanwhile. */
  beforeAnswer(listener: (call: Received) => void): void
}

export function fakeApi(clock: Pick<Clock, 'now'>, changeKeys?: ChangeKeys): FakeApi {
  const sessions = new Map<string, LabletSession>()
  const state: FakeState = {
    clock,
    workers: new Map(),
    sessions,
    labs: new Map(),
    definitions: new Map(),
    saveSession(session) {
      sessions.set(session.id, session)
      const { id, version, updated_at, status, desired_status } = session
      void changeKeys?.publish(`${CHANGE_KEYS.sessions}${id}`, { id, version, updated_at, status, desired_status })
      return session
    },
  }
  const received: Received[] = []
  let isAway = false
  let listener = (_: Received): void => undefined

  async function dispatch(request: ApiRequest): Promise<ApiResponse> {
    if (request.signal.aborted) throw request.signal.reason
    if (isAway) throw new UnreachableError('the API is away')
    const call = receivedOf(request)
    received.push(call)
    listener(call)
    const answer = ANSWERS[call.name]
    if (answer === undefined) throw new Error(`the fake knows no ${call.name}`)
    return answer(state, call)
  }

  return {
    ...state,
    client: apiClient(dispatch),
    received,
    session(id) {
      const found = sessions.get(id)
      if (found === undefined) throw new Error(`there is no session ${id}`)
      return found
    },
    callsOf: name => received.filter(call => call.name === name),
    setAway(away) {
      isAway = away
    },
    beforeAnswer(listen) {
      listener = listen
    },
  }
}
