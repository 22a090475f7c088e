import { ApiError } from '@lcm/client/api-error'
import { Problem } from '@lcm/contract/problems'
import type { Dispatch } from '@lcm/contract/wire'
import { CliError, EXIT } from '../exit-code.ts'

/** One simulated machine, as EC2 has it. */
export interface SimMachine {
  readonly instance_id: string
  readonly region: string
  readonly instance_type: string
  readonly state: 'pending' | 'running' | 'shutting-down' | 'terminated' | 'stopping' | 'stopped'
  /** How far its CML has come. */
  readonly stage: string
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

export const MACHINE_ACTS = ['stop', 'terminate', 'start', 'reboot'] as const
export type MachineAct = (typeof MACHINE_ACTS)[number]

/** What the next calls meet: a fault of the network, or an answer of AWS. */
export type NextFault =
  | { readonly fault: string }
  | { readonly error: { readonly code: string; readonly status: number } }

/** The simulated cloud's control API: whatever it does, LCM is not told. */
export interface SimClient {
  machines(): Promise<readonly SimMachine[]>
  faults(): Promise<FaultState>
  presets(): Promise<Readonly<Record<string, FaultState['plan']>>>
  act(instanceId: string, act: MachineAct): Promise<SimMachine>
  patch(changes: Readonly<Record<string, FaultValue>>): Promise<FaultState>
  /** The next `times` calls of an action meet this. */
  script(action: string, times: number, next: NextFault): Promise<FaultState>
  /** Nothing scripted, nothing scarce, and the plan as the preset has it. */
  reset(): Promise<FaultState>
  breakCml(instanceId: string, faults: CmlFaults): Promise<void>
  healCml(instanceId: string): Promise<void>
  forgetSessions(instanceId: string): Promise<void>
}

/** Below the path that the API names. */
export function simClient(base: string, dispatch: Dispatch, signal: AbortSignal): SimClient {
  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    const text = body === undefined ? null : JSON.stringify(body)
    const response = await dispatch({ method, url: `${base}${path}`, headers, body: text, signal })
    const answer = JSON.parse(typeof response.body === 'string' && response.body !== '' ? response.body : '{}')
    if (response.status >= 400) throw refusal(response.status, answer)
    return answer
  }
  const machine = (instanceId: string) => `/instances/${encodeURIComponent(instanceId)}`
  return {
    machines: async () => (await call<{ items: SimMachine[] }>('GET', '/instances')).items,
    faults: () => call('GET', '/faults'),
    presets: () => call('GET', '/presets'),
    act: (instanceId, act) => call('POST', `${machine(instanceId)}/${act}`),
    patch: changes => call('PATCH', '/faults', changes),
    script: (action, times, next) => call('POST', '/faults/next', { action, times, ...next }),
    reset: () => call('POST', '/faults/reset'),
    breakCml: (instanceId, faults) => call('PATCH', `${machine(instanceId)}/cml/faults`, faults),
    healCml: instanceId => call('DELETE', `${machine(instanceId)}/cml/faults`),
    forgetSessions: instanceId => call('POST', `${machine(instanceId)}/cml/forget-sessions`),
  }
}

const EXIT_BY_STATUS: Readonly<Record<number, number>> = { 400: EXIT.usage, 404: EXIT.notFound, 409: EXIT.conflict }

/** The API speaks for itself; the simulator says in its own words what would do. */
function refusal(status: number, answer: { readonly message?: unknown }): Error {
  const problem = Problem.safeParse(answer)
  if (problem.success) return new ApiError(problem.data)
  const said = typeof answer.message === 'string' ? answer.message : `it answered ${status}`
  return new CliError(EXIT_BY_STATUS[status] ?? EXIT.failed, `the simulated cloud refused: ${said}`)
}
