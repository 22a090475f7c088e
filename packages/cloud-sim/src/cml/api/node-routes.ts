import { CmlRefusal, DONE, OK } from '../http-messages.ts'
import { type Check, jsonBody, nullable, object, queryFlag, text } from '../input-checks.ts'
import { filesOf, membersOf, portLabel, unknownDefinition } from '../labs/create-lab.ts'
import type { CmlLab, LabNode } from '../labs/lab.ts'
import { bootProgress, isNodeConverged, nodeStateAt } from '../labs/lab-element-states.ts'
import { type PowerChange, startNodes, stopNodes, wipeNodes } from '../labs/lab-power.ts'
import { nodeView } from '../labs/lab-views.ts'
import { consoleText, withExtracted } from '../labs/node-configuration.ts'
import { nodeDefinition } from '../labs/node-definitions.ts'
import { NODE_MEMBERS, NODE_PLACE, type NodeMembers, type NodePlace } from '../labs/topology.ts'
import { type CmlServerContext, type Outcome, scaledMs, type UserCall } from '../server-context.ts'
import { theLab, theNode } from './find-lab-elements.ts'
import { powered } from './lab-routes.ts'
import { type Route, user } from './route.ts'

function listed(call: UserCall): Outcome {
  const lab = theLab(call)
  const { query } = call.request
  if (queryFlag(query, 'data') !== true) return OK(lab.nodes.map(node => node.id))
  const exclude = queryFlag(query, 'exclude_configurations')
  return OK(lab.nodes.map(node => nodeView(call.context, lab, { node, exclude })))
}

function shown(call: UserCall): Outcome {
  const { lab, element: node } = theNode(call)
  return OK(nodeView(call.context, lab, { node, exclude: queryFlag(call.request.query, 'exclude_configurations') }))
}

const ofAll = ({ context, user: self, request }: UserCall): Outcome =>
  OK(
    context.labs
      .filter(lab => self.admin || lab.owner === self.id)
      .flatMap(lab =>
        lab.nodes.map(node => {
          return nodeView(context, lab, { node, exclude: queryFlag(request.query, 'exclude_configurations') })
        }),
      ),
  )

type Update = Partial<NodePlace & NodeMembers & { readonly pinned_compute_id: string | null }>
const nodeUpdate: Check<Update> = object<object, Required<Update>>(
  {},
  { ...NODE_PLACE, ...NODE_MEMBERS, pinned_compute_id: nullable(text(36)) },
)

/** Only position, label and tags may change while the node runs. */
const SOFT: readonly string[] = ['x', 'y', 'label', 'tags', 'hide_links', 'parameters']

function patched(call: UserCall): Outcome {
  const { lab, element: node } = theNode(call)
  const given = jsonBody(call.request.body, nodeUpdate)
  const { configuration, pinned_compute_id: _pinned, ...members } = given
  const isHard = Object.keys(given).some(name => !SOFT.includes(name))
  if (isHard && nodeStateAt(node, call.context.nowMs) !== 'DEFINED_ON_CORE') {
    throw new CmlRefusal(400, `Node ${node.id} must be wiped before this can be changed.`)
  }
  const changed: LabNode = {
    ...node,
    ...members,
    hide_links: members.hide_links ?? node.hide_links,
    ...(configuration === undefined ? {} : { files: filesOf(configuration) }),
  }
  return { ...OK(node.id), change: { labs: [replaced(call.context, lab, changed)] } }
}

const replaced = (context: CmlServerContext, lab: CmlLab, changed: LabNode): CmlLab => ({
  ...lab,
  modified_ms: context.nowMs,
  nodes: lab.nodes.map(node => (node.id === changed.id ? changed : node)),
})

function deleted(call: UserCall): Outcome {
  const { lab, element: node } = theNode(call)
  if (nodeStateAt(node, call.context.nowMs) !== 'DEFINED_ON_CORE') {
    throw new CmlRefusal(400, `Node ${node.id} must be stopped and wiped before it can be deleted.`)
  }
  const nodes = lab.nodes.filter(({ id }) => id !== node.id)
  const links = lab.links.filter(({ node_a, node_b }) => node_a !== node.id && node_b !== node.id)
  return { ...DONE, change: { labs: [{ ...lab, nodes, links, modified_ms: call.context.nowMs }] } }
}

const newNode = object<NodePlace & { readonly node_definition: string }, NodeMembers>(
  { ...NODE_PLACE, node_definition: text(250, 1) },
  NODE_MEMBERS,
)
const DEFAULT_PORTS = 1

function created(call: UserCall): Outcome {
  const { context, request } = call
  const lab = theLab(call)
  const { label, x, y, node_definition, ...members } = jsonBody(request.body, newNode)
  const definition = nodeDefinition(node_definition)
  if (!definition) throw unknownDefinition(node_definition)
  const id = context.uuid('element', lab.id, lab.elements_made)
  const ports = queryFlag(request.query, 'populate_interfaces') === true ? DEFAULT_PORTS : 0
  const node: LabNode = {
    id,
    label,
    x,
    y,
    node_definition,
    ...membersOf(members),
    interfaces: Array.from({ length: ports }, (_, slot) => ({
      id: context.uuid('port', id, slot),
      label: portLabel(node_definition, slot),
      type: 'physical',
      slot,
      mac_address: null,
    })),
    launch_number: 0,
    timeline: [{ state: 'DEFINED_ON_CORE', from_ms: context.nowMs }],
  }
  const grown = {
    ...lab,
    nodes: [...lab.nodes, node],
    elements_made: lab.elements_made + 1,
    modified_ms: context.nowMs,
  }
  return { ...OK({ id }), change: { labs: [grown] } }
}

type Act = (context: CmlServerContext, lab: CmlLab, chosen: (node: LabNode) => boolean) => PowerChange

const one =
  (act: Act) =>
  (call: UserCall): Outcome => {
    const { lab, element } = theNode(call)
    const change = act(call.context, lab, node => node.id === element.id)
    return { ...DONE, change: powered({ call, lab, category: null }, change) }
  }

/** Seconds until the answer: CML logs in on the console and reads. */
const EXTRACTION_S = [2, 6] as const

function extracted(call: UserCall): Outcome {
  const { lab, element: node } = theNode(call)
  const { context } = call
  if (nodeDefinition(node.node_definition)?.extracts !== true) {
    throw new CmlRefusal(400, `Node definition ${node.node_definition} does not support configuration extraction.`)
  }
  if (nodeStateAt(node, context.nowMs) !== 'BOOTED') {
    throw new CmlRefusal(400, `The configuration of node ${node.id} can't be extracted: it has not booted.`)
  }
  const [from, to] = EXTRACTION_S
  const held_ms = scaledMs(context, from + (to - from) * context.fraction('extract', node.id))
  return { ...OK({}), held_ms, change: { labs: [replaced(context, lab, withExtracted(node))] } }
}

function consoleLog(call: UserCall): Outcome {
  const { element: node } = theNode(call)
  const isKnown = call.params.console_id === '0' && nodeDefinition(node.node_definition)?.driver !== 'none'
  if (!isKnown) throw new CmlRefusal(400, `Node ${node.id} has no serial console ${call.params.console_id}.`)
  const lines = Number(call.request.query.get('lines') ?? CONSOLE_LINES)
  return OK(consoleText(node).split('\n').slice(-lines).join('\n'))
}
const CONSOLE_LINES = 1_000

function state(call: UserCall): Outcome {
  const now = nodeStateAt(theNode(call).element, call.context.nowMs)
  return OK({ state: now, progress: bootProgress(now) })
}

export const NODE_ROUTES: readonly Route[] = [
  user('GET /nodes', ofAll),
  user('GET /labs/:lab_id/nodes', listed),
  user('POST /labs/:lab_id/nodes', created),
  user('GET /labs/:lab_id/nodes/:node_id', shown),
  user('PATCH /labs/:lab_id/nodes/:node_id', patched),
  user('DELETE /labs/:lab_id/nodes/:node_id', deleted),
  user('GET /labs/:lab_id/nodes/:node_id/state', state),
  user('GET /labs/:lab_id/nodes/:node_id/check_if_converged', call =>
    OK(isNodeConverged(theNode(call).element, call.context.nowMs)),
  ),
  user('PUT /labs/:lab_id/nodes/:node_id/state/start', one(startNodes)),
  user('PUT /labs/:lab_id/nodes/:node_id/state/stop', one(stopNodes)),
  user('PUT /labs/:lab_id/nodes/:node_id/wipe_disks', one(wipeNodes)),
  user('PUT /labs/:lab_id/nodes/:node_id/extract_configuration', extracted),
  user('GET /labs/:lab_id/nodes/:node_id/consoles/:console_id/log', consoleLog),
]
