import { type Reason, reason } from '../reason.ts'
import { type Instance, TAG } from './ec2-instance.ts'
import type { Worker, WorkerChanges } from './worker.ts'

/** Which address of a machine is used for its CML. */
export type CmlAddress = 'public' | 'private'

/** On these ports CML's port mapper leads to the nodes of labs, so a learner could answer there instead of CML. */
const NODE_PORTS = { first: 2000, last: 7999 }
const PORT_MAX = 65_535
const URL_PARTS = /^https:\/\/([a-z0-9.-]+)(?::(\d{1,5}))?\/?$/i

/**
 * Where the CML of a running machine is reached; null without an address. The tag `cml-endpoint` may choose among the machine's own
 * addresses and ports. Anybody who may tag machines can write it, so it never leads to another machine.
 */
export function endpointOf(instance: Instance, by: CmlAddress): string | null {
  const address = by === 'private' ? instance.private_ip : (instance.public_ip ?? instance.private_ip)
  if (instance.state !== 'running' || address === null) return null
  const tag = readTag(instance)
  return tag !== null && 'url' in tag ? tag.url : `https://${address}`
}

/** Why the endpoint tag of a running machine is ignored; null where it counts, or there is none. */
export function whyTagIsIgnored(instance: Instance): Reason | null {
  const tag = readTag(instance)
  return tag !== null && 'why' in tag ? tag.why : null
}

function readTag(instance: Instance): { readonly url: string } | { readonly why: Reason } | null {
  const tag = instance.tags[TAG.endpoint]
  if (tag === undefined) return null
  const [, host, port] = URL_PARTS.exec(tag) ?? []
  if (host === undefined) return { why: reason('endpoint_malformed') }
  const address = addressNamed(instance, host.toLowerCase())
  if (address === null) return { why: reason('endpoint_address_foreign', { host, instance_id: instance.instance_id }) }
  if (port === undefined) return { url: `https://${address}` }
  const number = Number(port)
  if (number < 1 || number > PORT_MAX) return { why: reason('endpoint_port_invalid', { port }) }
  if (isNodePort(number)) return { why: reason('endpoint_port_of_nodes', { port: number, ...NODE_PORTS }) }
  return { url: `https://${address}:${number}` }
}

const isNodePort = (port: number): boolean => port >= NODE_PORTS.first && port <= NODE_PORTS.last

/** A name stands for the address that EC2 gives it, so that no resolver has to be trusted. */
function addressNamed(instance: Instance, host: string): string | null {
  const { public_ip, private_ip, public_dns, private_dns } = instance
  if (host === public_ip || host === public_dns?.toLowerCase()) return public_ip
  return host === private_ip || host === private_dns?.toLowerCase() ? private_ip : null
}

/**
 * The recorded endpoint, unless it belongs to another machine or to a node of a lab: an older version may have stored it from a
 * foreign tag.
 */
export function recordedEndpoint({ https_endpoint, public_ip, private_ip }: Worker): string | null {
  const [, host, port] = URL_PARTS.exec(https_endpoint ?? '') ?? []
  const isOwn = host !== undefined && (host === public_ip || host === private_ip)
  return isOwn && !isNodePort(Number(port)) ? https_endpoint : null
}

export const isDead = (instance: Instance): boolean =>
  instance.state === 'shutting-down' || instance.state === 'terminated'

/** The changes of the record for this machine: addresses change with every start. */
export function factsOf(worker: Worker, instance: Instance, by: CmlAddress): WorkerChanges {
  const facts = {
    instance_type: instance.instance_type,
    ami_id: instance.image_id,
    availability_zone: instance.availability_zone,
    public_ip: instance.public_ip,
    private_ip: instance.private_ip,
    https_endpoint: endpointOf(instance, by),
  }
  return Object.fromEntries(
    Object.entries(facts).filter(([name, value]) => worker[name as keyof typeof facts] !== value),
  )
}

export const isEmpty = (changes: WorkerChanges): boolean => Object.keys(changes).length === 0
