import { Problem } from '@lcm/contract/problems'
import type { Dispatch } from '@lcm/contract/route'
import { ApiError } from './client.ts'

/** One simulated machine, as EC2 has it. */
export interface SimMachine {
  readonly instance_id: string
  readonly region: string
  readonly availability_zone: string
  readonly instance_type: string
  readonly state: 'pending' | 'running' | 'shutting-down' | 'terminated' | 'stopping' | 'stopped'
  /** How far its CML has come. */
  readonly stage: string
  readonly served: boolean
  readonly retires_at: string | null
  readonly tags: Readonly<Record<string, string>>
  /** What was changed of its CML's ways. */
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
  readonly scarce: readonly { availability_zone: string; instance_type: string; room: number }[]
  readonly scripted: readonly ScriptedFault[]
}

/** A request of AWS that somebody made, and how it went. */
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

/** What the next calls meet: a fault of the network, or an answer of AWS. */
export type NextFault =
  | { readonly fault: 'lost_answer' | 'lost_request' | 'held' | 'empty' | 'truncated' | 'html' }
  | { readonly error: { readonly code: string; readonly status: number } }

/** The simulated cloud's control API: whatever it does, LCM is not told. */
export interface SimClient {
  machines(signal: AbortSignal): Promise<readonly SimMachine[]>
  faults(signal: AbortSignal): Promise<FaultState>
  presets(signal: AbortSignal): Promise<Readonly<Record<string, FaultState['plan']>>>
  /** The newest first. */
  requests(limit: number, signal: AbortSignal): Promise<readonly JournalEntry[]>
  act(instanceId: string, act: MachineAct): Promise<SimMachine>
  /** `preset` is one of them. */
  patch(changes: Readonly<Record<string, FaultValue>>): Promise<FaultState>
  /** The next `times` calls of an action meet this. */
  script(action: string, times: number, next: NextFault): Promise<FaultState>
  /** Nothing scripted, nothing scarce, and the plan as the preset has it. */
  reset(): Promise<FaultState>
  breakCml(instanceId: string, faults: CmlFaults): Promise<void>
  healCml(instanceId: string): Promise<void>
  forgetSessions(instanceId: string): Promise<void>
}

/** The simulator says no in its own words. */
export class SimRefusal extends Error {
  override readonly name = 'SimRefusal'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** What was begun is done, whoever waits for it: the cloud is not asked to stop in the middle. */
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
  }
}

/** Nothing where there is no JSON: a proxy in between answers in pages. */
function answerIn(body: unknown): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? body : '')
  } catch {
    return {}
  }
}

/** The API speaks for itself; the simulator says in its own words what would do. */
function refusal(status: number, answer: unknown): Error {
  const problem = Problem.safeParse(answer)
  if (problem.success) return new ApiError(problem.data)
  const { message, detail } = answer as { message?: unknown; detail?: unknown }
  const said = [message, detail].find(each => typeof each === 'string')
  return new SimRefusal(status, typeof said === 'string' ? said : `the simulator answered ${status}`)
}
