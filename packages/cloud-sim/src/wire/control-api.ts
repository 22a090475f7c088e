import type { MachineView } from '../ec2/instance.ts'
import { REGIONS } from '../ec2/places.ts'
import { Ec2Refusal } from '../ec2/refusal.ts'
import type { SimModel } from '../model.ts'
import type { Journal } from './journal.ts'

/**
 * Acts on the simulated cloud behind LCM's back, for tests and the chaos page. It asks nobody who they are: whoever
 * serves it to others guards it.
 */
export interface ControlApi {
  handle(request: ControlRequest): ControlAnswer
}

export interface ControlRequest {
  readonly method: string
  /** Path and query, from `/sim/v1` on. */
  readonly url: string
}

export interface ControlAnswer {
  readonly status: number
  readonly body: object
}

export interface ControlApiOptions {
  readonly model: SimModel
  readonly journal: Journal
  /** Whether something listens at the machine's CML endpoint. */
  readonly isServed: (instanceId: string) => boolean
}

export const CONTROL_PATH = '/sim/v1'
const REQUESTS_LIMIT_DEFAULT = 100

export function controlApi(options: ControlApiOptions): ControlApi {
  return {
    handle(request) {
      try {
        return answer(options, request.method, new URL(request.url, 'http://simulator'))
      } catch (error) {
        if (error instanceof Ec2Refusal) return problem(409, error.code, error.message)
        return problem(500, 'internal_error', error instanceof Error ? error.message : String(error))
      }
    },
  }
}

function answer(options: ControlApiOptions, method: string, url: URL): ControlAnswer {
  const route = `${method} ${url.pathname.slice(CONTROL_PATH.length)}`
  if (route === 'GET /info') return found(info(options.model))
  if (route === 'GET /instances') {
    return found({ items: options.model.machines().map(machine => machineBody(options, machine)) })
  }
  if (route === 'GET /requests') {
    const limit = Number(url.searchParams.get('limit') ?? REQUESTS_LIMIT_DEFAULT)
    return found({ items: options.journal.last(Number.isInteger(limit) ? limit : REQUESTS_LIMIT_DEFAULT) })
  }
  const [, instanceId = '', act = ''] = /^POST \/instances\/([^/]+)\/([a-z]+)$/.exec(route) ?? []
  return isAct(act) ? acted(options, instanceId, act) : problem(404, 'not_found', `there is no ${route}`)
}

const ACTS = ['start', 'stop', 'terminate'] as const
type Act = (typeof ACTS)[number]
const isAct = (text: string): text is Act => ACTS.some(act => act === text)

function acted(options: ControlApiOptions, instanceId: string, act: Act): ControlAnswer {
  const { model } = options
  const region = model.machine(instanceId)?.instance.region
  if (region === undefined) return problem(404, 'not_found', `there is no instance ${instanceId}`)
  const ids = [instanceId]
  if (act === 'start') model.ec2.startInstances(region, { ids })
  if (act === 'stop') model.ec2.stopInstances(region, { ids, force: false })
  if (act === 'terminate') model.ec2.terminateInstances(region, { ids })
  const machine = model.machine(instanceId)
  return machine ? found(machineBody(options, machine)) : problem(404, 'not_found', `${instanceId} has faded`)
}

const info = (model: SimModel) => ({
  seed: model.seed,
  speed: model.speed,
  now: new Date(model.now()).toISOString(),
  regions: REGIONS.map(region => region.name),
  instance_count: model.machines().length,
})

const machineBody = ({ isServed }: ControlApiOptions, machine: MachineView) => ({
  instance_id: machine.instance.instance_id,
  region: machine.instance.region,
  availability_zone: machine.instance.availability_zone,
  instance_type: machine.instance.instance_type,
  state: machine.state,
  state_reason: machine.state_reason?.code ?? null,
  stage: machine.stage,
  endpoint: machine.endpoint,
  served: isServed(machine.instance.instance_id),
  tags: machine.tags,
})

const found = (body: object): ControlAnswer => ({ status: 200, body })
const problem = (status: number, code: string, message: string): ControlAnswer => ({ status, body: { code, message } })
