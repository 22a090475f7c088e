import { CmlRefusal, instantText, OK } from '../http-messages.ts'
import { flag, jsonBody, nullable, object } from '../input-checks.ts'
import type { CmlLab, LabNode, NodeState } from '../labs/lab.ts'
import { interfaceStateAt, isUp, linkStateAt, nodeStateAt } from '../labs/lab-element-states.ts'
import { labEvents } from '../labs/lab-events.ts'
import { licensedUp, quotaOf } from '../labs/lab-power.ts'
import { hasImage, imageOf, NODE_DEFINITIONS } from '../labs/node-definitions.ts'
import type { CmlServerContext, Outcome, UserCall } from '../server-context.ts'
import { nodeEvents } from '../telemetry-events.ts'
import { admin, type Route, user } from './route.ts'
import { computeDiagnostics, startupScheduler } from './system-routes.ts'
import { userView } from './user-routes.ts'

const seconds = (ms: number): number => Math.floor(ms / 1000)

/** Time that a node spent in each state during its last start. */
function stateTimes(node: LabNode, nowMs: number) {
  const lasted = (state: NodeState): number => {
    const index = node.timeline.findLastIndex(moment => moment.state === state && moment.from_ms <= nowMs)
    const moment = node.timeline[index]
    if (!moment) return 0
    return seconds(Math.min(nowMs, node.timeline[index + 1]?.from_ms ?? nowMs) - moment.from_ms)
  }
  return { QUEUED: lasted('QUEUED'), STARTED: lasted('STARTED'), BOOTED: lasted('BOOTED') }
}

const labDiagnostics = (lab: CmlLab, nowMs: number) => ({
  created: instantText(lab.created_ms),
  allocated: lab.nodes.some(node => isUp(nodeStateAt(node, nowMs))),
  nodes: byId(lab.nodes, node => {
    return { label: node.label, state: nodeStateAt(node, nowMs), state_times: stateTimes(node, nowMs) }
  }),
  links: byId(lab.links, link => {
    const { interface_a, interface_b } = link
    return { state: linkStateAt(lab, link, nowMs), interface_a, interface_b }
  }),
  interfaces: Object.fromEntries(
    lab.nodes.flatMap(node =>
      node.interfaces.map(({ id, label, slot }) => [
        id,
        { label, ...(slot === null ? {} : { slot }), state: interfaceStateAt(node, nowMs), node: node.id },
      ]),
    ),
  ),
})

const byId = <Item extends { readonly id: string }>(items: readonly Item[], view: (item: Item) => unknown) =>
  Object.fromEntries(items.map(item => [item.id, view(item)]))

const launchQueue = ({ labs, nowMs }: CmlServerContext) =>
  labs.flatMap(lab =>
    lab.nodes
      .filter(node => nodeStateAt(node, nowMs) === 'QUEUED')
      .toSorted((a, b) => a.launch_number - b.launch_number)
      .map(({ id, label, node_definition, cpus, ram }) => ({ id, lab_id: lab.id, label, node_definition, cpus, ram })),
  )

const licensingReport = (context: CmlServerContext) => ({
  quota: quotaOf(context),
  started: licensedUp(context),
  user_quota: null,
  user_started: licensedUp(context),
})

const REPORTS: Readonly<Record<string, (context: CmlServerContext) => unknown>> = {
  computes: computeDiagnostics,
  labs: context => byId(context.labs, lab => labDiagnostics(lab, context.nowMs)),
  lab_events: context => byId(context.labs, lab => labEvents(lab, context.nowMs)),
  node_launch_queue: launchQueue,
  services: () => ({ dispatcher: true, termws: true }),
  node_definitions: () =>
    NODE_DEFINITIONS.map(definition => ({
      id: definition.id,
      images: hasImage(definition) ? [imageOf(definition)] : [],
    })),
  user_list: context => context.server.users.map(account => userView(context, account)),
  licensing: licensingReport,
  startup_scheduler: startupScheduler,
}

function diagnostics({ context, params }: UserCall): Outcome {
  const category = params.category ?? ''
  const report = Object.hasOwn(REPORTS, category) ? REPORTS[category] : undefined
  if (!report) throw new CmlRefusal(400, `Diagnostics category ${category} is not known.`)
  return OK(report(context))
}

/** All events, as CML returns them: it has no filter and no paging. */
function telemetryEvents({ context }: UserCall): Outcome {
  const ofNodes = context.server.opt_in === false ? [] : context.labs.flatMap(lab => nodeEvents(lab, context.nowMs))
  const events = [...context.telemetry(), ...ofNodes].toSorted((a, b) => a.at_ms - b.at_ms)
  return OK(events.map(({ category, at_ms, data }) => ({ category, timestamp: instantText(at_ms), data })))
}

const optIn = object<{ opt_in: boolean | null }, object>({ opt_in: nullable(flag) }, {})

function optedIn({ context, request }: UserCall): Outcome {
  const { opt_in } = jsonBody(request.body, optIn)
  return { ...OK({ opt_in, show_modal: opt_in === null }), change: { server: { ...context.server, opt_in } } }
}

export const REPORT_ROUTES: readonly Route[] = [
  user('GET /diagnostics/:category', diagnostics),
  user('GET /diagnostic_event_data', () => OK([])),
  user('GET /telemetry', ({ context }) =>
    OK({ opt_in: context.server.opt_in, show_modal: context.server.opt_in === null }),
  ),
  admin('PUT /telemetry', optedIn),
  user('GET /telemetry/events', telemetryEvents),
]
