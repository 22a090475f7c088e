import type { MachineView } from '../ec2/instance.ts'
import { Ec2Refusal } from '../ec2/refusal.ts'
import { REGIONS } from '../ec2/regions-and-instance-types.ts'
import { FaultPlanError } from '../faults/patch-fault-plan.ts'
import type { SimModel } from '../sim-model.ts'
import { faultsAnswer } from './control-fault-routes.ts'
import { isMachineAction, performMachineAction } from './control-machine-actions.ts'
import { type JsonText, splitJson } from './json-member-reader.ts'
import type { RequestLog } from './request-log.ts'

/**
 * Changes the simulated cloud without LCM, for tests and the chaos page. It has no authentication: a server that
 * exposes it must guard it.
 */
export interface ControlApi {
  handle(request: ControlRequest): ControlResponse
}

export interface ControlRequest {
  readonly method: string
  /** Path and query, from `/sim/v1` on. */
  readonly url: string
  /** JSON text; an empty body counts as an empty object. */
  readonly body?: string
}

export interface ControlResponse {
  readonly status: number
  readonly body: object
}

/** Further routes; returns null for an unknown one. */
export type ControlExtension = (request: ControlRequest) => ControlResponse | null

export interface ControlApiOptions {
  readonly model: SimModel
  readonly journal: RequestLog
  /** Whether the machine's CML endpoint is open. */
  readonly isServed: (instanceId: string) => boolean
  readonly plugs?: readonly ControlExtension[]
}

export const CONTROL_PATH = '/sim/v1'
const REQUESTS_LIMIT_DEFAULT = 100

export function controlApi(options: ControlApiOptions): ControlApi {
  return {
    handle(request) {
      try {
        const url = new URL(request.url, 'http://simulator')
        const route: Route = { ...request, path: url.pathname.slice(CONTROL_PATH.length), query: url.searchParams }
        return plugged(options.plugs ?? [], request) ?? answer(options, route)
      } catch (error) {
        if (error instanceof FaultPlanError) return problem(400, 'invalid_faults', error.message)
        if (error instanceof Ec2Refusal)
          return problem(INVALID.includes(error.code) ? 400 : 409, error.code, error.message)
        return problem(500, 'internal_error', error instanceof Error ? error.message : String(error))
      }
    },
  }
}

const INVALID: readonly string[] = ['ValidationError', 'SerializationException', 'InvalidParameterValue']

interface Route extends ControlRequest {
  readonly path: string
  readonly query: URLSearchParams
}

function plugged(plugs: readonly ControlExtension[], request: ControlRequest): ControlResponse | null {
  for (const plug of plugs) {
    const answered = plug(request)
    if (answered) return answered
  }
  return null
}

function answer(options: ControlApiOptions, { method, path, query, body: text = '' }: Route): ControlResponse {
  const route = `${method} ${path}`
  if (route === 'GET /info') return found(info(options.model))
  if (route === 'GET /instances') return found({ items: machines(options, query) })
  if (route === 'GET /requests') return found({ items: requests(options.journal, query) })
  const body = splitJson(text)
  const faults = faultsAnswer(options.model.faults, route, { body, text })
  if (faults) return found(faults)
  const [, instanceId = '', name = ''] = /^\/instances\/([^/]+)(?:\/([a-z-]+))?$/.exec(path) ?? []
  if (method === 'GET' && instanceId !== '' && name === '') return shown(options, instanceId)
  if (method === 'POST' && isMachineAction(name)) return acted(options, instanceId, { name, body })
  return problem(404, 'not_found', `there is no ${route}; docs/reference/simulator.md lists what there is`)
}

function acted(
  options: ControlApiOptions,
  instanceId: string,
  { name, body }: { readonly name: Parameters<typeof performMachineAction>[2]['name']; readonly body: JsonText },
): ControlResponse {
  const machine = options.model.machine(instanceId)
  if (!machine) return unknown(instanceId)
  performMachineAction(options.model, machine, { name, body })
  return shown(options, instanceId)
}

function shown(options: ControlApiOptions, instanceId: string): ControlResponse {
  const machine = options.model.machine(instanceId)
  return machine ? found(machineBody(options, machine)) : unknown(instanceId)
}

const unknown = (instanceId: string) =>
  problem(404, 'not_found', `there is no instance ${instanceId}; GET ${CONTROL_PATH}/instances lists those there are`)

function machines(options: ControlApiOptions, query: URLSearchParams): readonly object[] {
  const region = query.get('region')
  const state = query.get('state')
  return options.model
    .machines()
    .filter(
      machine => (region === null || machine.instance.region === region) && (state === null || machine.state === state),
    )
    .map(machine => machineBody(options, machine))
}

function requests(journal: RequestLog, query: URLSearchParams) {
  const limit = Number(query.get('limit') ?? REQUESTS_LIMIT_DEFAULT)
  return journal.find({
    limit: Number.isInteger(limit) ? limit : REQUESTS_LIMIT_DEFAULT,
    action: query.get('action'),
    region: query.get('region'),
    instance_id: query.get('instance_id'),
    code: query.get('code'),
  })
}

const info = (model: SimModel) => ({
  seed: model.seed,
  speed: model.speed,
  preset: model.faults.state().preset,
  now: new Date(model.now()).toISOString(),
  regions: REGIONS.map(region => region.name),
  instance_count: model.machines().length,
})

const machineBody = ({ model, isServed }: ControlApiOptions, machine: MachineView) => ({
  instance_id: machine.instance.instance_id,
  region: machine.instance.region,
  availability_zone: machine.instance.availability_zone,
  instance_type: machine.instance.instance_type,
  state: machine.state,
  state_reason: machine.state_reason?.code ?? null,
  stage: machine.stage,
  endpoint: machine.endpoint,
  served: isServed(machine.instance.instance_id),
  disable_api_termination: machine.instance.disable_api_termination ?? false,
  disable_api_stop: machine.instance.disable_api_stop ?? false,
  retires_at: retiresAt(machine),
  tags: machine.tags,
  cml_faults: model.cml.faultChangesOf(machine.instance.instance_id),
})

function retiresAt({ instance: { event } }: MachineView): string | null {
  return event && event.completed_at_ms === null ? new Date(event.not_before_ms).toISOString() : null
}

const found = (body: object): ControlResponse => ({ status: 200, body })
const problem = (status: number, code: string, message: string): ControlResponse => ({
  status,
  body: { code, message },
})
