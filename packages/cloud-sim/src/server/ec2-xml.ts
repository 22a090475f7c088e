import type { SimImage } from '../ec2/images.ts'
import type { MachineView } from '../ec2/instance.ts'
import type { StateChange } from '../ec2/power.ts'
import { ACCOUNT_ID, type Region, type Subnet } from '../ec2/regions-and-instance-types.ts'

const STATE_CODES: Readonly<Record<string, number>> = {
  pending: 0,
  running: 16,
  'shutting-down': 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
}

const PROLOG = '<?xml version="1.0" encoding="UTF-8"?>\n'
const NAMESPACE = 'http://ec2.amazonaws.com/doc/2016-11-15/'

export const answerXml = (action: string, requestId: string, content: string): string =>
  `${PROLOG}<${action}Response xmlns="${NAMESPACE}">${leaf('requestId', requestId)}${content}</${action}Response>`

export const errorXml = (error: { readonly code: string; readonly message: string }, requestId: string): string =>
  `${PROLOG}<Response><Errors><Error>${leaf('Code', error.code)}${leaf('Message', error.message)}</Error></Errors>` +
  `${leaf('RequestID', requestId)}</Response>`

/** Machines grouped by launch, as in EC2; a page may split a group. */
export function reservationsXml(machines: readonly MachineView[]): string {
  const groups = new Map<string, MachineView[]>()
  for (const machine of machines) {
    const { reservation_id } = machine.instance
    const group = groups.get(reservation_id)
    if (group) group.push(machine)
    else groups.set(reservation_id, [machine])
  }
  return set('reservationSet', [...groups.values()], reservationXml)
}

export const reservationXml = (machines: readonly MachineView[]): string =>
  leaf('reservationId', machines[0]?.instance.reservation_id ?? null) +
  leaf('ownerId', ACCOUNT_ID) +
  set('groupSet', [], String) +
  set('instancesSet', machines, instanceXml)

function instanceXml(machine: MachineView): string {
  const { instance } = machine
  return (
    leaf('instanceId', instance.instance_id) +
    leaf('imageId', instance.image_id) +
    stateXml('instanceState', machine.state) +
    leaf('instanceType', instance.instance_type) +
    leaf('launchTime', new Date(instance.started_at_ms).toISOString()) +
    element('placement', leaf('availabilityZone', instance.availability_zone) + leaf('tenancy', 'default')) +
    leaf('privateIpAddress', machine.private_ip) +
    leaf('ipAddress', machine.public_ip) +
    leaf('subnetId', instance.subnet_id) +
    leaf('vpcId', instance.vpc_id) +
    reasonXml(machine) +
    leaf('clientToken', instance.client_token) +
    set('tagSet', Object.entries(machine.tags), ([key, value]) => leaf('key', key) + leaf('value', value))
  )
}

function reasonXml({ state_reason: reason, state_from_ms }: MachineView): string {
  if (!reason) return element('reason', '')
  const at = new Date(state_from_ms).toISOString().slice(0, 19).replace('T', ' ')
  const by = reason.code.startsWith('Client.User') ? 'User initiated' : reason.message
  return (
    leaf('reason', `${by} (${at} GMT)`) +
    element('stateReason', leaf('code', reason.code) + leaf('message', reason.message))
  )
}

export const stateXml = (name: string, state: string) =>
  element(name, leaf('code', String(STATE_CODES[state] ?? 0)) + leaf('name', state))

export const changesXml = (changes: readonly StateChange[]): string =>
  set(
    'instancesSet',
    changes,
    change =>
      leaf('instanceId', change.instance_id) +
      stateXml('currentState', change.current) +
      stateXml('previousState', change.previous),
  )

export const imagesXml = (images: readonly SimImage[]): string =>
  set(
    'imagesSet',
    images,
    image =>
      leaf('imageId', image.image_id) +
      leaf('name', image.name) +
      leaf('imageOwnerId', image.owner_id) +
      leaf('imageState', image.state) +
      leaf('creationDate', image.created_at) +
      leaf('architecture', 'x86_64') +
      leaf('virtualizationType', 'hvm') +
      leaf('rootDeviceName', image.root_device),
  )

export const subnetsXml = (subnets: readonly Subnet[]): string =>
  set(
    'subnetSet',
    subnets,
    subnet =>
      leaf('subnetId', subnet.subnet_id) +
      leaf('vpcId', subnet.vpc_id) +
      leaf('availabilityZone', subnet.availability_zone) +
      leaf('state', 'available') +
      leaf('availableIpAddressCount', '4091'),
  )

export const regionsXml = (regions: readonly Region[]): string =>
  set(
    'regionInfo',
    regions,
    region =>
      leaf('regionName', region.name) +
      leaf('regionEndpoint', `ec2.${region.name}.amazonaws.com`) +
      leaf('optInStatus', 'opt-in-not-required'),
  )

export const done = element('return', 'true')

export const nextTokenXml = (token: string | null): string => leaf('nextToken', token)

export function set<Item>(name: string, items: readonly Item[], content: (item: Item) => string): string {
  return element(name, items.map(item => element('item', content(item))).join(''))
}

export function element(name: string, content: string): string {
  return content === '' ? `<${name}/>` : `<${name}>${content}</${name}>`
}

/** A value as text; null leaves the element out. */
export function leaf(name: string, value: string | null): string {
  return value === null ? '' : element(name, escaped(value))
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** XML 1.0 can't represent most control characters, so they are replaced. */
const escaped = (value: string) => (PLAIN.test(value) ? value : replaced(value))

/** Most values need no escaping, and a listing has a hundred thousand of them. */
const PLAIN = /^[\w\-.:/ @=+,]*$/

const replaced = (value: string) =>
  value
    .replaceAll(/[&<>"']/g, character => ENTITIES[character] ?? character)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach the wire
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
