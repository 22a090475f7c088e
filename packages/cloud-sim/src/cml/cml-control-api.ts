import type { ControlExtension, ControlResponse } from '../server/control-api.ts'
import type { SimModel } from '../sim-model.ts'
import { withActivity } from './api/dispatch.ts'
import { importInto } from './api/lab-routes.ts'
import { retried } from './api/licensing-routes.ts'
import { withUser } from './api/user-routes.ts'
import { type CmlFaults, faultsPatch } from './faults.ts'
import { type CmlAnswer, CmlRefusal, DONE, OK } from './http-messages.ts'
import { flag, jsonBody, object, text } from './input-checks.ts'
import { labStateAt, nodeStateAt } from './labs/lab-element-states.ts'
import { licensedUp, quotaOf, startNodes } from './labs/lab-power.ts'
import { relaunched, withNodes } from './labs/launch-queue.ts'
import { withTyped } from './labs/node-configuration.ts'
import { licensingStatus } from './license/licensing-answer.ts'
import { type CmlChange, type CmlServerContext, labOf, type Outcome } from './server-context.ts'
import { type CmlUser, DEFAULT_CML_LOGIN, withPassword } from './server-state.ts'

const CONTROL_PATH = '/sim/v1'

/** Routes that change CML servers without their API: `/sim/v1/instances/{id}/cml...` and `/sim/v1/smart-account`. */
export function cmlControl(model: SimModel): ControlExtension {
  return ({ method, url, body }) => {
    const path = new URL(url, 'http://simulator').pathname.slice(CONTROL_PATH.length)
    if (path === '/smart-account') return method === 'GET' ? found({ items: model.cml.smartAccount() }) : wrongMethod()
    const [, instanceId = '', rest = ''] = /^\/instances\/([^/]+)\/cml(?:\/(.*))?$/.exec(path) ?? []
    if (instanceId === '') return null
    if (!model.cml.contextOf(instanceId)) return problem(404, 'not_found', `there is no instance ${instanceId}`)
    const act = Object.hasOwn(ACTS, `${method} ${rest}`) ? ACTS[`${method} ${rest}`] : undefined
    if (!act)
      return problem(404, 'not_found', `there is no ${method} ${path}; there are: ${Object.keys(ACTS).join(', ')}`)
    try {
      return answered(act(model, instanceId, body ?? ''))
    } catch (error) {
      if (error instanceof CmlRefusal) return problem(error.status, 'refused', error.message)
      throw error
    }
  }
}

const found = (body: object): ControlResponse => ({ status: 200, body })
const problem = (status: number, code: string, message: string): ControlResponse => ({
  status,
  body: { code, message },
})
const wrongMethod = () => problem(405, 'method_not_allowed', 'only GET is known here')

function answered({ status, body }: CmlAnswer): ControlResponse {
  return { status: status === 204 ? 200 : status, body: typeof body === 'object' && body !== null ? body : {} }
}

type Act = (model: SimModel, instanceId: string, body: string) => CmlAnswer

/** Commits the change that a pure function derives from the context. */
const deciding =
  (decide: (context: CmlServerContext, body: string) => Outcome): Act =>
  (model, instanceId, body) =>
    model.cml.act(instanceId, context => decide(context, body))

const ACTS: Readonly<Record<string, Act>> = {
  'GET ': (model, instanceId) => model.cml.act(instanceId, context => OK(summary(model, context))),
  'GET faults': deciding(context => OK(context.faults)),
  'PATCH faults': deciding((context, body) =>
    withFaults(context, { ...context.server.fault_changes, ...jsonBody(body, faultsPatch) }),
  ),
  /** Resets faults to the preset. */
  'DELETE faults': deciding(context => withFaults(context, {})),
  'POST password': deciding(passwordChanged),
  'POST forget-sessions': deciding(context => ({ ...DONE, change: { server: { ...context.server, sessions: [] } } })),
  'POST telemetry': deciding(telemetrySet),
  'POST activity': deciding(personActed),
  'POST start-lab': deciding(personStartsLab),
  'POST type': deciding(personTypes),
  'POST replace-certificate': (model, instanceId) => {
    model.cml.replaceCertificate(instanceId)
    return OK({ certificate_sha256: model.cml.fingerprintOf(instanceId) })
  },
}

function summary(model: SimModel, context: CmlServerContext) {
  const { registration, authorization } = licensingStatus(context)
  const { instance_id } = context.instance
  return {
    instance_id,
    stage: model.cml.stageOf(instance_id),
    version: context.version.text,
    certificate_sha256: model.cml.fingerprintOf(instance_id),
    users: context.server.users.map(({ id, username, admin }) => ({ id, username, admin })),
    session_count: context.server.sessions.length,
    labs: context.labs.map(lab => {
      return { id: lab.id, title: lab.title, state: labStateAt(lab, context.nowMs), node_count: lab.nodes.length }
    }),
    license: { registration: registration.status, authorization: authorization.status },
    nodes: { quota: quotaOf(context), started: licensedUp(context) },
    ports: model.cml.nodePorts(instance_id).map(({ port }) => port),
  }
}

/** Freed memory may start queued nodes, and a restored connection may continue a registration. */
function withFaults(context: CmlServerContext, fault_changes: Partial<CmlFaults>): Outcome {
  const server = { ...context.server, fault_changes }
  const faults = { ...context.preset_faults, ...fault_changes }
  const changed = { ...context, server, faults }
  const { change = { server } } = retried(changed) ?? {}
  const labs = relaunched(changed, context.labs)
  return { ...OK(faults), change: labs.length > 0 ? { ...change, labs } : change }
}

const newPassword = object<{ password: string }, { username: string }>(
  { password: text(1024, 1) },
  { username: text(32, 1) },
)

function passwordChanged({ server }: CmlServerContext, body: string): Outcome {
  const { username = DEFAULT_CML_LOGIN.username, password } = jsonBody(body, newPassword)
  const account = server.users.find(user => user.username === username)
  if (!account) throw new CmlRefusal(404, `there is no user ${username}`)
  return { ...DONE, change: { server: withPassword(server, account.id, password) } }
}

const telemetry = object<{ opt_in: boolean }, object>({ opt_in: flag }, {})

function telemetrySet({ server }: CmlServerContext, body: string): Outcome {
  return { ...DONE, change: { server: { ...server, opt_in: jsonBody(body, telemetry).opt_in } } }
}

const person = object<{ username: string }, object>({ username: text(32, 1) }, {})

/** The account of that name, created if missing. */
function personNamed(
  context: CmlServerContext,
  username: string,
): { readonly context: CmlServerContext; readonly self: CmlUser } {
  const known = context.server.users.find(user => user.username === username)
  if (known) return { context, self: known }
  const { made, server } = withUser(context, { username, password: `${username}-${DEFAULT_CML_LOGIN.password}` })
  return { context: { ...context, server }, self: made }
}

function refuseUnlessBooted({ isBooted }: CmlServerContext): void {
  if (!isBooted) throw new CmlRefusal(409, 'CML is not ready on this machine: wait for its boot')
}

/** Records a user who works in the web UI. */
function personActed(before: CmlServerContext, body: string): Outcome {
  refuseUnlessBooted(before)
  const { context, self } = personNamed(before, jsonBody(body, person).username)
  const active_ms = { ...context.server.active_ms, [self.id]: context.nowMs }
  const event = { category: 'user_activity', at_ms: context.nowMs, data: { user_id: self.id } }
  return { ...OK({ user_id: self.id }), change: { server: { ...context.server, active_ms }, events: [event] } }
}

const typing = object<{ lab_id: string; node: string; line: string }, object>(
  { lab_id: text(36, 1), node: text(128, 1), line: text(250, 1) },
  {},
)

/** A learner types a line on the console of a node, which has an effect only once it has booted. */
function personTypes(context: CmlServerContext, body: string): Outcome {
  const { lab_id, node: label, line } = jsonBody(body, typing)
  const lab = labOf(context, lab_id)
  const node = lab?.nodes.find(each => each.label === label)
  if (!lab || !node) throw new CmlRefusal(404, `there is no node ${label} in lab ${lab_id}`)
  if (nodeStateAt(node, context.nowMs) !== 'BOOTED') throw new CmlRefusal(409, `${label} has not booted`)
  const changed = withNodes(lab, each => (each === node ? withTyped(node, line, context.nowMs) : each))
  return { ...DONE, change: { labs: [changed] } }
}

const labOfPerson = object<{ username: string }, { topology: string; title: string }>(
  { username: text(32, 1) },
  { topology: text(1_000_000), title: text(64) },
)

const SMALL_LAB = JSON.stringify({
  lab: { version: '0.3.0', title: 'another user' },
  nodes: [{ id: 'n0', label: 'alpine-0', node_definition: 'alpine', x: 0, y: 0 }],
  links: [],
})

/** Imports and starts a lab as a user. */
function personStartsLab(before: CmlServerContext, body: string): Outcome {
  refuseUnlessBooted(before)
  const { username, topology = SMALL_LAB, title = null } = jsonBody(body, labOfPerson)
  const { context, self } = personNamed(before, username)
  const { lab, change } = importInto(context, self, { source: topology, title })
  const withLab: CmlServerContext = {
    ...context,
    server: change.server ?? context.server,
    labs: [...context.labs, lab],
  }
  const started = startNodes(withLab, lab, () => true)
  const data = { lab_id: lab.id, user_id: self.id }
  const all: CmlChange = {
    server: { ...withLab.server, launches_made: withLab.server.launches_made + started.launches },
    labs: started.labs.some(({ id }) => id === lab.id) ? started.labs : [lab, ...started.labs],
    events: [...(change.events ?? []), { category: 'start_lab', at_ms: context.nowMs, data }],
  }
  return { ...OK({ user_id: self.id, lab_id: lab.id }), change: withActivity(withLab, all, self.id) }
}
