import { notFound } from '../http-messages.ts'
import type { CmlLab, LabInterface, LabLink, LabNode } from '../labs/lab.ts'
import { labOf, type UserCall } from '../server-context.ts'

/** Only admins can see labs of other users. */
export function theLab({ context, params, user }: UserCall): CmlLab {
  const labId = params.lab_id ?? ''
  const lab = labOf(context, labId)
  if (!lab || (!user.admin && lab.owner !== user.id)) throw notFound('Lab', labId)
  return lab
}

export interface InLab<Element> {
  readonly lab: CmlLab
  readonly element: Element
}

export function theNode(call: UserCall): InLab<LabNode> {
  const lab = theLab(call)
  const element = lab.nodes.find(({ id }) => id === call.params.node_id)
  if (!element) throw notFound('Node', call.params.node_id ?? '')
  return { lab, element }
}

export function theLink(call: UserCall): InLab<LabLink> {
  const lab = theLab(call)
  const element = lab.links.find(({ id }) => id === call.params.link_id)
  if (!element) throw notFound('Link', call.params.link_id ?? '')
  return { lab, element }
}

export interface NodePort {
  readonly node: LabNode
  readonly port: LabInterface
}

export const portsOf = (lab: CmlLab): readonly NodePort[] =>
  lab.nodes.flatMap(node => node.interfaces.map(port => ({ node, port })))

export function thePort(call: UserCall): InLab<NodePort> {
  const lab = theLab(call)
  const element = portsOf(lab).find(({ port }) => port.id === call.params.interface_id)
  if (!element) throw notFound('Interface', call.params.interface_id ?? '')
  return { lab, element }
}
