import { CmlRefusal, OK } from '../http-messages.ts'
import { portLabel } from '../labs/create-lab.ts'
import { hasImage, imageOf, NODE_DEFINITIONS, type NodeDefinition } from '../labs/node-definitions.ts'
import type { UserCall } from '../server-context.ts'
import { type Route, user } from './route.ts'

const PORTS = 8

const INHERITED = { ram: true, cpus: true, data_volume: true, boot_disk_size: true, cpu_limit: true }

const general = ({ nature, label }: NodeDefinition) => ({ nature, description: label, read_only: true })

const device = ({ id, driver }: NodeDefinition) => ({
  interfaces: {
    serial_ports: driver === 'none' ? 0 : 1,
    default_console: 0,
    physical: Array.from({ length: PORTS }, (_, slot) => portLabel(id, slot)),
    has_loopback_zero: false,
    min_count: 0,
    default_count: 1,
    loopback: [],
    management: [],
  },
})

const ICONS: Readonly<Record<NodeDefinition['nature'], string>> = {
  router: 'router',
  switch: 'switch',
  server: 'server',
  host: 'host',
  firewall: 'firewall',
  external_connector: 'cloud',
}

const ui = ({ id, label, nature, driver, extracts }: NodeDefinition) => ({
  label_prefix: `${id}-`.slice(0, 32),
  icon: ICONS[nature],
  label: label.slice(0, 32),
  visible: true,
  group: driver === 'iol' || driver === 'kvm' ? 'Cisco' : 'Others',
  description: label,
  has_configuration: driver !== 'none',
  show_ram: driver !== 'none',
  show_cpus: driver !== 'none',
  show_cpu_limit: driver !== 'none',
  show_data_volume: false,
  show_boot_disk_size: false,
  has_config_extraction: extracts,
})

function definitionView(definition: NodeDefinition) {
  const { id, cpus, ram_mib, driver } = definition
  const sizes = driver === 'none' ? {} : { ram: ram_mib, cpus, cpu_limit: 100 }
  return {
    id,
    boot: { timeout: definition.boot_timeout_s, completed: [], uses_regex: false },
    sim: { linux_native: { libvirt_domain_driver: driver, driver: 'server', disk_driver: 'virtio', ...sizes } },
    general: general(definition),
    configuration: { generator: { driver: null } },
    device: device(definition),
    ui: ui(definition),
    inherited: { image: INHERITED, node: INHERITED },
    schema_version: '0.0.1',
  }
}

const simplifiedView = (definition: NodeDefinition) => ({
  id: definition.id,
  general: general(definition),
  device: device(definition),
  ui: ui(definition),
  sim: {
    ram: definition.ram_mib,
    cpus: definition.cpus,
    cpu_limit: 100,
    data_volume: 0,
    boot_disk_size: 0,
    console: definition.driver !== 'none',
    simulate: true,
    custom_mac: definition.driver !== 'none',
    vnc: definition.vnc,
  },
  image_definitions: hasImage(definition) ? [imageOf(definition)] : [],
})

const imageView = (definition: NodeDefinition) => ({
  id: imageOf(definition),
  node_definition_id: definition.id,
  label: imageOf(definition).slice(0, 64),
  description: '',
  disk_image: `${imageOf(definition)}.qcow2`,
  read_only: true,
  schema_version: '0.0.1',
})

function theDefinition({ params }: UserCall): NodeDefinition {
  const found = NODE_DEFINITIONS.find(({ id }) => id === params.def_id)
  if (!found) throw new CmlRefusal(404, `Node definition not found: ${params.def_id}`)
  return found
}

const images = NODE_DEFINITIONS.filter(hasImage)

export const DEFINITION_ROUTES: readonly Route[] = [
  user('GET /node_definitions', () => OK(NODE_DEFINITIONS.map(definitionView))),
  user('GET /node_definitions/:def_id', call => OK(definitionView(theDefinition(call)))),
  user('GET /simplified_node_definitions', () => OK(NODE_DEFINITIONS.map(simplifiedView))),
  user('GET /image_definitions', ({ context }) =>
    OK(context.faults.refplat_images_available ? images.map(imageView) : []),
  ),
]
