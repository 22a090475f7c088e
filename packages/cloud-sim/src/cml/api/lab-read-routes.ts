import { OK } from '../http-messages.ts'
import { queryFlag } from '../input-checks.ts'
import type { CmlLab, LabNode } from '../labs/lab.ts'
import { interfaceStateAt, isLabConverged, labStateAt, linkStateAt, nodeStateAt } from '../labs/lab-element-states.ts'
import { labEvents } from '../labs/lab-events.ts'
import { interfaceView, linkView, tileView, topologyView } from '../labs/lab-views.ts'
import { sizesOf } from '../labs/launch-queue.ts'
import type { CmlServerContext, Outcome, UserCall } from '../server-context.ts'
import { portsOf, theLab, theLink, theNode, thePort } from './find-lab-elements.ts'
import { type Route, user } from './route.ts'

const MIB = 1024 ** 2

/** States of all nodes, links and interfaces; the cheapest way to follow a lab. */
function elementStates(call: UserCall): Outcome {
  const lab = theLab(call)
  const { nowMs } = call.context
  return OK({
    nodes: Object.fromEntries(lab.nodes.map(node => [node.id, nodeStateAt(node, nowMs)])),
    links: Object.fromEntries(lab.links.map(link => [link.id, linkStateAt(lab, link, nowMs)])),
    interfaces: Object.fromEntries(portsOf(lab).map(({ node, port }) => [port.id, interfaceStateAt(node, nowMs)])),
  })
}

/** CML sends objects keyed by id here, although its published schema differs. */
function simulationStats(call: UserCall): Outcome {
  const lab = theLab(call)
  const { context } = call
  const links = lab.links.map(link => [
    link.id,
    { readbytes: 0, readpackets: 0, writebytes: 0, writepackets: 0, drops: 0 },
  ])
  return OK({
    nodes: Object.fromEntries(lab.nodes.map(node => [node.id, nodeStats(context, node)])),
    links: Object.fromEntries(links),
  })
}

function nodeStats(context: CmlServerContext, node: LabNode) {
  const state = nodeStateAt(node, context.nowMs)
  const is_running = state === 'STARTED' || state === 'BOOTED'
  const { ram_mib } = sizesOf(node)
  return {
    cpu_usage: is_running ? (state === 'STARTED' ? 90 : 10) : 0,
    ram_usage: is_running ? ram_mib * MIB : 0,
    disk_usage: 0,
    block0_rd_bytes: 0,
    block0_wr_bytes: 0,
    times: {},
    is_running,
  }
}

/** A node gets an address once it has booted and is linked to an external connector. */
function layer3(context: CmlServerContext, lab: CmlLab) {
  const connectors = new Set(lab.nodes.filter(isConnector).map(node => node.id))
  const ends = new Set(
    lab.links
      .filter(({ node_a, node_b }) => connectors.has(node_a) || connectors.has(node_b))
      .flatMap(link => [link.interface_a, link.interface_b]),
  )
  const booted = lab.nodes.filter(node => !isConnector(node) && nodeStateAt(node, context.nowMs) === 'BOOTED')
  return Object.fromEntries(booted.map(node => [node.id, addressesOf(context, node, ends)]))
}

const isConnector = (node: LabNode): boolean => node.node_definition === 'external_connector'

function addressesOf(context: CmlServerContext, node: LabNode, ends: ReadonlySet<string>) {
  const found = node.interfaces
    .filter(port => ends.has(port.id))
    .map(port => {
      const mac = port.mac_address ?? `52:54:00:${context.hex(6, 'mac', port.id).replace(/(..)(..)/, '$1:$2:')}`
      const last = 2 + Math.floor(context.fraction('ip', port.id) * 250)
      return [mac, { id: port.id, label: port.label, ip4: [`192.168.255.${last}`], ip6: [] }]
    })
  return { name: node.label, interfaces: Object.fromEntries(found) }
}

function tiles({ context, user: self }: UserCall): Outcome {
  const visible = context.labs.filter(lab => self.admin || lab.owner === self.id)
  return OK({ lab_tiles: Object.fromEntries(visible.map(lab => [lab.id, tileView(context, lab)])) })
}

function links(call: UserCall): Outcome {
  const lab = theLab(call)
  const withData = queryFlag(call.request.query, 'data') === true
  return OK(lab.links.map(link => (withData ? linkView(call.context, lab, link) : link.id)))
}

function nodePorts(call: UserCall): Outcome {
  const { lab, element: node } = theNode(call)
  const withData = queryFlag(call.request.query, 'data') === true
  return OK(node.interfaces.map(port => (withData ? interfaceView(call.context, lab, { node, port }) : port.id)))
}

function interfaceState(call: UserCall): Outcome {
  const { element } = thePort(call)
  return OK({ label: element.port.label, state: interfaceStateAt(element.node, call.context.nowMs) })
}

export const LAB_READ_ROUTES: readonly Route[] = [
  user('GET /populate_lab_tiles', tiles),
  user('GET /labs/:lab_id/tile', call => OK(tileView(call.context, theLab(call)))),
  user('GET /labs/:lab_id/state', call => OK(labStateAt(theLab(call), call.context.nowMs))),
  user('GET /labs/:lab_id/check_if_converged', call => OK(isLabConverged(theLab(call), call.context.nowMs))),
  user('GET /labs/:lab_id/lab_element_state', elementStates),
  user('GET /labs/:lab_id/topology', call =>
    OK(topologyView(theLab(call), queryFlag(call.request.query, 'exclude_configurations'))),
  ),
  user('GET /labs/:lab_id/events', call => OK(labEvents(theLab(call), call.context.nowMs))),
  user('GET /labs/:lab_id/simulation_stats', simulationStats),
  user('GET /labs/:lab_id/layer3_addresses', call => OK(layer3(call.context, theLab(call)))),
  user('GET /labs/:lab_id/resource_pools', call => OK(theLab(call) && [])),
  user('GET /labs/:lab_id/interfaces', call => {
    const lab = theLab(call)
    return OK(portsOf(lab).map(port => interfaceView(call.context, lab, port)))
  }),
  user('GET /labs/:lab_id/interfaces/:interface_id', call => {
    const { lab, element } = thePort(call)
    return OK(interfaceView(call.context, lab, element))
  }),
  user('GET /labs/:lab_id/interfaces/:interface_id/state', interfaceState),
  user('GET /labs/:lab_id/links', links),
  user('GET /labs/:lab_id/links/:link_id', call => {
    const { lab, element } = theLink(call)
    return OK(linkView(call.context, lab, element))
  }),
  user('GET /labs/:lab_id/links/:link_id/check_if_converged', call => {
    const { lab } = theLink(call)
    return OK(isLabConverged(lab, call.context.nowMs))
  }),
  user('GET /labs/:lab_id/nodes/:node_id/interfaces', nodePorts),
]
