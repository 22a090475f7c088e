import { HOST_RESERVE_MIB } from '../hosts.ts'
import { CmlRefusal, OK } from '../http-messages.ts'
import { flag, jsonBody, nullable, object, oneOf, text } from '../input.ts'
import { sizesOf } from '../labs/capacity.ts'
import type { LabNode } from '../labs/lab.ts'
import { nodeStateAt } from '../labs/node-lifecycle.ts'
import { isProduct, PRODUCTS, registrationAt } from '../license/licensing.ts'
import { ADMISSION_STATES, type AdmissionState } from '../server.ts'
import { type CmlServerContext, computeId, hostnameOf, isModern, isReady, type UserCall } from '../server-context.ts'
import { noticeView } from './notices.ts'
import { admin, open, type Route, user } from './router.ts'

const OUI = '52:54:00:00:00:00'
const MIB = 1024 ** 2
const KIB_PER_MIB = 1024
const CPU_MODEL = 'Simulated CPU @ 3.00GHz'
const CPUS_ENOUGH = 4
/** Of the disk, before any node is there. */
const DISK_USED_SHARE = 0.3

/** 2.9 has exactly these members; 2.11 has two more. */
export const systemInformation = (scene: CmlServerContext) => ({
  version: scene.version.text,
  ready: isReady(scene),
  allow_ssh_pubkey_auth: false,
  oui: OUI,
  ...(isModern(scene) ? { timeout: scene.server.session_timeout_s, features: [] } : {}),
})

/** Nodes that hold memory now. */
function runningOf({ labs, nowMs }: CmlServerContext): readonly LabNode[] {
  return labs
    .flatMap(lab => lab.nodes)
    .filter(node => {
      const state = nodeStateAt(node, nowMs)
      return state === 'STARTED' || state === 'BOOTED'
    })
}

/** Booting takes whole processors, running a tenth of them, the server itself a little. */
function cpuPercent(scene: CmlServerContext, running: readonly LabNode[]): number {
  const busy = running.reduce((sum, node) => {
    const { cpus, cpu_limit } = sizesOf(node)
    return sum + (cpus * cpu_limit * (nodeStateAt(node, scene.nowMs) === 'STARTED' ? 0.9 : 0.1)) / 100
  }, 0.5)
  return Math.min(100, Math.round((1000 * busy) / scene.host.cpus) / 10)
}

function nodeSums(scene: CmlServerContext) {
  const running = runningOf(scene)
  const sizes = running.map(sizesOf)
  return {
    running,
    ram_mib: sizes.reduce((sum, { ram_mib }) => sum + ram_mib, 0),
    cpus: sizes.reduce((sum, { cpus }) => sum + cpus, 0),
  }
}

function systemStats(scene: CmlServerContext) {
  const { host, faults } = scene
  const sums = nodeSums(scene)
  const percent = cpuPercent(scene, sums.running)
  const usedMib = HOST_RESERVE_MIB + faults.ram_taken_mib + sums.ram_mib
  const total = host.ram_mib * MIB
  const used = Math.min(total, usedMib * MIB)
  // Some of it is cache, which CML counts neither as used nor as free.
  const memory = { used, free: Math.round((total - used) * 0.9), total }
  const diskUsed = Math.round(host.disk_bytes * Math.min(1, DISK_USED_SHARE + sums.running.length * 0.005))
  const disk = { used: diskUsed, free: host.disk_bytes - diskUsed, total: host.disk_bytes }
  const load = [percent, percent, percent].map(each => Math.round(each * host.cpus) / 100)
  const cpu = { count: host.cpus, percent, model: CPU_MODEL, predicted: Math.round(percent), load }
  const stats = { cpu, memory, disk, dominfo: domInfo(scene, sums) }
  return {
    computes: { [computeId(scene)]: { hostname: hostnameOf(scene), is_controller: true, stats } },
    all: { cpu: { count: host.cpus, percent }, memory, disk },
    controller: { disk },
  }
}

function domInfo(scene: CmlServerContext, { running, ram_mib, cpus }: ReturnType<typeof nodeSums>) {
  return {
    ...nodeCounts(scene, running),
    allocated_cpus: cpus,
    allocated_memory: ram_mib * KIB_PER_MIB,
  }
}

const nodeCounts = ({ labs, faults }: CmlServerContext, running: readonly LabNode[]) => ({
  total_nodes: labs.reduce((sum, lab) => sum + lab.nodes.length, 0),
  total_orphans: faults.running_orphans,
  running_nodes: running.length,
  running_orphans: faults.running_orphans,
})

function systemHealth(scene: CmlServerContext) {
  const { host, isBooted, server, faults } = scene
  const { licensing } = server
  const kvm = faults.kvm_vmx_enabled ?? host.vmx
  const enough_cpus = host.cpus >= CPUS_ENOUGH
  const valid = isBooted && kvm && enough_cpus && faults.refplat_images_available
  const is_licensed = registrationAt(licensing, scene.nowMs) === 'COMPLETED'
  const compute = {
    kvm_vmx_enabled: kvm,
    enough_cpus,
    lld_connected: isBooted,
    lld_synced: isBooted,
    libvirt: isBooted,
    fabric: isBooted,
    device_mux: isBooted,
    refplat_images_available: faults.refplat_images_available,
    docker_shim: isBooted,
    valid,
    admission_state: server.admission_state,
    is_controller: true,
    hostname: hostnameOf(scene),
  }
  return {
    valid,
    computes: { [computeId(scene)]: compute },
    is_licensed,
    is_enterprise: isProduct(licensing.product) && PRODUCTS[licensing.product].is_enterprise,
    controller: { core_connected: isBooted, nodes_loaded: true, images_loaded: true, valid: isBooted },
  }
}

const computeHost = (scene: CmlServerContext) => ({
  id: computeId(scene),
  server_address: scene.address,
  hostname: hostnameOf(scene),
  is_simulator: true,
  is_connector: true,
  admission_state: scene.server.admission_state,
  nodes: runningOf(scene).map(node => node.id),
  node_counts: nodeCounts(scene, runningOf(scene)),
  is_connected: scene.isBooted,
  is_synced: scene.isBooted,
})

function theCompute({ scene, params }: UserCall): CmlServerContext {
  if (params.compute_id !== computeId(scene)) throw new CmlRefusal(404, `Compute host not found: ${params.compute_id}`)
  return scene
}

const admission = object<{ admission_state: AdmissionState }, object>(
  { admission_state: oneOf(...ADMISSION_STATES) },
  {},
)

/** An all-in-one server can only be cordoned and opened again. */
function admitted(call: UserCall) {
  const scene = theCompute(call)
  const { admission_state } = jsonBody(call.request.body, admission)
  if (admission_state !== 'ONLINE' && admission_state !== 'READY') {
    throw new CmlRefusal(409, `Compute host cannot change from ${scene.server.admission_state} to ${admission_state}.`)
  }
  const server = { ...scene.server, admission_state }
  return { ...OK(computeHost({ ...scene, server })), change: { server } }
}

function maintenanceView({ server }: CmlServerContext) {
  const { is_on, notice } = server.maintenance
  const resolved = server.notices.find(({ id }) => id === notice)
  return { maintenance_mode: is_on, notice, resolved_notice: resolved ? noticeView(resolved) : null }
}

const maintenanceUpdate = object<object, { maintenance_mode: boolean; notice: string | null }>(
  {},
  { maintenance_mode: flag, notice: nullable(text(36)) },
)

function maintained({ scene, request }: UserCall) {
  const before = scene.server.maintenance
  const { maintenance_mode = before.is_on, notice = before.notice } = jsonBody(request.body, maintenanceUpdate)
  const server = { ...scene.server, maintenance: { is_on: maintenance_mode, notice } }
  const event = { category: 'maintenance_state_change', at_ms: scene.nowMs, data: { maintenance_mode } }
  return { ...OK(maintenanceView({ ...scene, server })), change: { server, events: [event] } }
}

const CONNECTORS = [
  { label: 'NAT', device_name: 'virbr0', forwarding: 'NAT', ip_networks: ['192.168.255.0/24'] },
  { label: 'System Bridge', device_name: 'bridge0', forwarding: 'BRIDGE', ip_networks: [] },
] as const

const connectorsOf = (scene: CmlServerContext) =>
  CONNECTORS.map(({ label, device_name, forwarding, ip_networks }) => ({
    id: scene.uuid('connector', device_name),
    label,
    device_name,
    protected: false,
    snooped: true,
    tags: [label],
    allowed: true,
    operational: {
      protected: false,
      snooped: true,
      label,
      interface: null,
      forwarding,
      mtu: 1500,
      exists: true,
      enabled: true,
      stp: false,
      ip_networks,
    },
  }))

/** Why the server is not ready yet. */
export const startupScheduler = (scene: CmlServerContext) => ({
  licensing_loaded: true,
  core_driver_connected: scene.isBooted,
  node_definitions_loaded: true,
  lld_connected: scene.isBooted,
  lld_synced: scene.isBooted,
  system_ready: isReady(scene),
})

export const computeDiagnostics = (scene: CmlServerContext) => ({
  [computeId(scene)]: {
    identifier: computeId(scene),
    host_address: scene.address,
    hostname: hostnameOf(scene),
    link_driver: 'bridge',
    kvm_vmx_enabled: scene.faults.kvm_vmx_enabled ?? scene.host.vmx,
    is_controller: true,
    is_connector: true,
    is_simulator: true,
    readiness: { libvirt: true, fabric: true, device_mux: true, refplat_images_available: true, docker_shim: true },
    lld_consistency: { missing_nodes: [], orphaned_nodes: [] },
    fabric: [],
    statistics: systemStats(scene).computes[computeId(scene)]?.stats,
    admission_state: scene.server.admission_state,
  },
})

export const SYSTEM_ROUTES: readonly Route[] = [
  open('GET /system_information', ({ scene }) => OK(systemInformation(scene))),
  user('GET /system_stats', ({ scene }) => OK(systemStats(scene))),
  user('GET /system_health', ({ scene }) => OK(systemHealth(scene))),
  user('GET /system/compute_hosts', ({ scene }) => OK([computeHost(scene)])),
  user('GET /system/compute_hosts/:compute_id', call => OK(computeHost(theCompute(call)))),
  admin('PATCH /system/compute_hosts/:compute_id', admitted),
  open('GET /system/maintenance_mode', ({ scene }) => OK(maintenanceView(scene))),
  admin('PATCH /system/maintenance_mode', maintained),
  user('GET /system/external_connectors', ({ scene }) => OK(connectorsOf(scene))),
]
