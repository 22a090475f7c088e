import { Problem } from '@lcm/contract/problems'
import type { Dispatch } from '@lcm/contract/route-spec'
import { ApiError } from './client.ts'

/** One simulated machine, as EC2 shows it. */
export interface SimMachine {
  readonly instance_id: string
  readonly region: string
  readonly availability_zone: string
  readonly instance_type: string
  readonly state: 'pending' | 'running' | 'shutting-down' | 'terminated' | 'stopping' | 'stopped'
  /** Boot stage of its CML. */
  readonly stage: string
  readonly served: boolean
  readonly retires_at: string | null
  readonly tags: Readonly<Record<string, string>>
  /** Faults set on its CML. */
  readonly cml_faults: CmlFaults
}

export interface CmlFaults {
  readonly fail_one_in?: number
  readonly network?: 'reached' | 'cut'
  readonly session_lifetime_factor?: number
}

export interface ScriptedFault {
  readonly action: string
  readonly times: number
  readonly fault: string | { readonly code: string; readonly status: number }
}

export type FaultValue = number | string | boolean | null

export interface FaultState {
  readonly preset: string
  readonly plan: Readonly<Record<string, FaultValue>>
  readonly scarce: readonly { availability_zone: string; instance_type: string; available: number }[]
  readonly scripted: readonly ScriptedFault[]
}

/** A logged AWS request and its result. */
export interface JournalEntry {
  readonly at: string
  readonly region: string
  readonly action: string
  readonly instance_ids: readonly string[]
  readonly attempt: string | null
  readonly invocation_id: string | null
  readonly status: number
  readonly code: string | null
  readonly fault: string | null
}

export const PRESETS = ['calm', 'realistic', 'hostile'] as const
export type Preset = (typeof PRESETS)[number]

export const MACHINE_ACTS = ['stop', 'terminate', 'start', 'reboot'] as const
export type MachineAct = (typeof MACHINE_ACTS)[number]

/** Fault for the next calls: a network fault, or an AWS error. */
export type NextFault =
  | { readonly fault: 'lost_answer' | 'lost_request' | 'held' | 'empty' | 'truncated' | 'html' }
  | { readonly error: { readonly code: string; readonly status: number } }

/** Control API of the simulated cloud. Its changes bypass LCM. */
export interface SimClient {
  machines(signal: AbortSignal): Promise<readonly SimMachine[]>
  faults(signal: AbortSignal): Promise<FaultState>
  presets(signal: AbortSignal): Promise<Readonly<Record<string, FaultState['plan']>>>
  /** Newest first. */
  requests(limit: number, signal: AbortSignal): Promise<readonly JournalEntry[]>
  act(instanceId: string, act: MachineAct): Promise<SimMachine>
  /** `preset` selects one of them. */
  patch(changes: Readonly<Record<string, FaultValue>>): Promise<FaultState>
  /** Sets this fault for the next `times` calls of an action. */
  script(action: string, times: number, next: NextFault): Promise<FaultState>
  /** Resets faults: no scripted faults, no scarcity, and the plan of the preset. */
  reset(): Promise<FaultState>
  breakCml(instanceId: string, faults: CmlFaults): Promise<void>
  healCml(instanceId: string): Promise<void>
  forgetSessions(instanceId: string): Promise<void>
  /** Types a line on the console of a node, as a learner does. */
  type(instanceId: string, typed: TypedLine): Promise<void>
}

export interface TypedLine {
  readonly lab_id: string
  /** Label of the node. */
  readonly node: string
  readonly line: string
}

/** Error response of the simulator. */
export class SimRefusal extends Error {
  override readonly name = 'SimRefusal'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Requests are not aborted with their caller: a started change is finished. */
const NEVER = new AbortController().signal

/** Below the path that the API names. */
export function simClient(base: string, dispatch: Dispatch): SimClient {
  async function call<T>(method: string, path: string, more: { body?: object; signal?: AbortSignal } = {}): Promise<T> {
    const { body, signal = NEVER } = more
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    const text = body === undefined ? null : JSON.stringify(body)
    const response = await dispatch({ method, url: `${base}${path}`, headers, body: text, signal })
    const answer = answerIn(response.body)
    if (response.status >= 400) throw refusal(response.status, answer)
    return answer as T
  }
  const machine = (instanceId: string) => `/instances/${encodeURIComponent(instanceId)}`
  return {
    machines: async signal => (await call<{ items: SimMachine[] }>('GET', '/instances', { signal })).items,
    faults: signal => call('GET', '/faults', { signal }),
    presets: signal => call('GET', '/presets', { signal }),
    requests: async (limit, signal) =>
      (await call<{ items: JournalEntry[] }>('GET', `/requests?limit=${limit}`, { signal })).items.toReversed(),
    act: (instanceId, act) => call('POST', `${machine(instanceId)}/${act}`),
    patch: changes => call('PATCH', '/faults', { body: changes }),
    script: (action, times, next) => call('POST', '/faults/next', { body: { action, times, ...next } }),
    reset: () => call('POST', '/faults/reset'),
    breakCml: (instanceId, faults) => call('PATCH', `${machine(instanceId)}/cml/faults`, { body: faults }),
    healCml: instanceId => call('DELETE', `${machine(instanceId)}/cml/faults`),
    forgetSessions: instanceId => call('POST', `${machine(instanceId)}/cml/forget-sessions`),
    type: (instanceId, typed) => call('POST', `${machine(instanceId)}/cml/type`, { body: typed }),
  }
}

/** An empty object for a body that is not JSON, such as a page of a proxy. */
function answerIn(body: unknown): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? body : '')
  } catch {
    return {}
  }
}

/** Message of the response: of the API, or of the simulator. */
function refusal(status: number, answer: unknown): Error {
  const problem = Problem.safeParse(answer)
  if (problem.success) return new ApiError(problem.data)
  const { message, detail } = answer as { message?: unknown; detail?: unknown }
  const text = [message, detail].find(each => typeof each === 'string')
  return new SimRefusal(status, typeof text === 'string' ? text : `the simulator answered ${status}`)
}
