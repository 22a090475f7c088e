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

export const PRESETS = ['calm', 'realistic', 'hostile'] as const
export type Preset = (typeof PRESETS)[number]

export interface FaultState {
  readonly preset: string
  readonly plan: Readonly<Record<string, unknown>>
  readonly scripted: readonly ScriptedFault[]
}

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

export const MACHINE_ACTS = ['start', 'stop', 'reboot', 'terminate'] as const
export type MachineAct = (typeof MACHINE_ACTS)[number]

/** What the next calls meet: a fault of the network, or an answer of AWS. */
export type NextFault =
  | { readonly fault: 'lost_answer' | 'lost_request' | 'empty' }
  | { readonly error: { readonly code: string; readonly status: number } }

/** The simulated cloud's control API: whatever it does, LCM is not told. */
export interface SimClient {
  machines(signal: AbortSignal): Promise<readonly SimMachine[]>
  faults(signal: AbortSignal): Promise<FaultState>
  /** The newest first. */
  requests(limit: number, signal: AbortSignal): Promise<readonly JournalEntry[]>
  act(instanceId: string, act: MachineAct): Promise<void>
  usePreset(preset: Preset): Promise<void>
  /** The next `times` calls of an action meet this. */
  script(action: string, times: number, next: NextFault): Promise<void>
  /** Nothing scripted, nothing scarce, and the plan as the preset has it. */
  reset(): Promise<void>
  breakCml(instanceId: string, faults: CmlFaults): Promise<void>
  healCml(instanceId: string): Promise<void>
  forgetSessions(instanceId: string): Promise<void>
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Below the path that the API names. The browser's cookie says who asks. */
export function simClient(base: string, send: Fetch): SimClient {
  async function call<T>(method: string, path: string, more: { body?: object; signal?: AbortSignal } = {}): Promise<T> {
    const { body, signal } = more
    const response = await send(`${base}${path}`, {
      method,
      ...(signal ? { signal } : {}),
      ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
    })
    const answer = await response.json().catch(() => ({}))
    if (!response.ok) throw new Error(answer.message ?? answer.detail ?? `the simulator answered ${response.status}`)
    return answer
  }
  const cml = (instanceId: string) => `/instances/${encodeURIComponent(instanceId)}/cml`
  return {
    machines: async signal => (await call<{ items: SimMachine[] }>('GET', '/instances', { signal })).items,
    faults: signal => call('GET', '/faults', { signal }),
    requests: async (limit, signal) =>
      (await call<{ items: JournalEntry[] }>('GET', `/requests?limit=${limit}`, { signal })).items.toReversed(),
    act: (instanceId, act) => call('POST', `/instances/${encodeURIComponent(instanceId)}/${act}`),
    usePreset: preset => call('PATCH', '/faults', { body: { preset } }),
    script: (action, times, next) => call('POST', '/faults/next', { body: { action, times, ...next } }),
    reset: () => call('POST', '/faults/reset'),
    breakCml: (instanceId, faults) => call('PATCH', `${cml(instanceId)}/faults`, { body: faults }),
    healCml: instanceId => call('DELETE', `${cml(instanceId)}/faults`),
    forgetSessions: instanceId => call('POST', `${cml(instanceId)}/forget-sessions`),
  }
}
