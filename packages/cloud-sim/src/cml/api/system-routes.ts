import { HOST_RESERVE_MIB } from '../host-hardware.ts'
import { CmlRefusal, OK } from '../http-messages.ts'
import { flag, jsonBody, nullable, object, oneOf, text } from '../input-checks.ts'
import type { LabNode } from '../labs/lab.ts'
import { nodeStateAt } from '../labs/lab-element-states.ts'
import { sizesOf } from '../labs/launch-queue.ts'
import { isProduct, PRODUCTS, registrationAt } from '../license/licensing-record.ts'
import { type CmlServerContext, computeId, hostnameOf, isModern, isReady, type UserCall } from '../server-context.ts'
import { ADMISSION_STATES, type AdmissionState } from '../server-state.ts'
import { noticeView } from './notice-routes.ts'
import { admin, open, type Route, user } from './route.ts'

const OUI = '52:54:00:00:00:00'
const MIB = 1024 ** 2
const KIB_PER_MIB = 1024
const CPU_MODEL = 'Simulated CPU @ 3.00GHz'
const CPUS_ENOUGH = 4
/** Disk space in use without any node. */
const DISK_USED_SHARE = 0.3

/** Members of 2.9; 2.11 has two more. */
export const systemInformation = (context: CmlServerContext) => ({
  version: context.version.text,
  ready: isReady(context),
  allow_ssh_pubkey_auth: false,
  oui: OUI,
  ...(isModern(context) ? { timeout: context.server.session_timeout_s, features: [] } : {}),
})

/** Nodes that use memory now. */
function runningOf({ labs, nowMs }: CmlServerContext): readonly LabNode[] {
  return labs
    .flatMap(lab => lab.nodes)
    .filter(node => {
      const state = nodeStateAt(node, nowMs)
      return state === 'STARTED' || state === 'BOOTED'
    })
}

/** A booting node uses whole processors, a running one a tenth of them, and the server itself a little. */
function cpuPercent(context: CmlServerContext, running: readonly LabNode[]): number {
  const busy = running.reduce((sum, node) => {
    const { cpus, cpu_limit } = sizesOf(node)
    return sum + (cpus * cpu_limit * (nodeStateAt(node, context.nowMs) === 'STARTED' ? 0.9 : 0.1)) / 100
  }, 0.5)
  return Math.min(100, Math.round((1000 * busy) / context.host.cpus) / 10)
}

function nodeSums(context: CmlServerContext) {
  const running = runningOf(context)
  const sizes = running.map(sizesOf)
  return {
    running,
    ram_mib: sizes.reduce((sum, { ram_mib }) => sum + ram_mib, 0),
    cpus: sizes.reduce((sum, { cpus }) => sum + cpus, 0),
  }
}

function systemStats(context: CmlServerContext) {
  const { host, faults } = context
  const sums = nodeSums(context)
  const percent = cpuPercent(context, sums.running)
  const usedMib = HOST_RESERVE_MIB + faults.ram_taken_mib + sums.ram_mib
  const total = host.ram_mib * MIB
  const used = Math.min(total, usedMib * MIB)
  // Cached memory counts neither as used nor as free in CML.
  const memory = { used, free: Math.round((total - used) * 0.9), total }
  const diskUsed = Math.round(host.disk_bytes * Math.min(1, DISK_USED_SHARE + sums.running.length * 0.005))
  const disk = { used: diskUsed, free: host.disk_bytes - diskUsed, total: host.disk_bytes }
  const load = [percent, percent, percent].map(each => Math.round(each * host.cpus) / 100)
  const cpu = { count: host.cpus, percent, model: CPU_MODEL, predicted: Math.round(percent), load }
  const stats = { cpu, memory, disk, dominfo: domInfo(context, sums) }
  return {
    computes: { [computeId(context)]: { hostname: hostnameOf(context), is_controller: true, stats } },
    all: { cpu: { count: host.cpus, percent }, memory, disk },
    controller: { disk },
  }
}

function domInfo(context: CmlServerContext, { running, ram_mib, cpus }: ReturnType<typeof nodeSums>) {
  return {
    ...nodeCounts(context, running),
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

function systemHealth(context: CmlServerContext) {
  const { host, isBooted, server, faults } = context
  const { licensing } = server
  const kvm = faults.kvm_vmx_enabled ?? host.vmx
  const enough_cpus = host.cpus >= CPUS_ENOUGH
  const valid = isBooted && kvm && enough_cpus && faults.refplat_images_available
  const is_licensed = registrationAt(licensing, context.nowMs) === 'COMPLETED'
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
    hostname: hostnameOf(context),
  }
  return {
    valid,
    computes: { [computeId(context)]: compute },
    is_licensed,
    is_enterprise: isProduct(licensing.product) && PRODUCTS[licensing.product].is_enterprise,
    controller: { core_connected: isBooted, nodes_loaded: true, images_loaded: true, valid: isBooted },
  }
}

const computeHost = (context: CmlServerContext) => ({
  id: computeId(context),
  server_address: context.address,
  hostname: hostnameOf(context),
  is_simulator: true,
  is_connector: true,
  admission_state: context.server.admission_state,
  nodes: runningOf(context).map(node => node.id),
  node_counts: nodeCounts(context, runningOf(context)),
  is_connected: context.isBooted,
  is_synced: context.isBooted,
})

function theCompute({ context, params }: UserCall): CmlServerContext {
  if (params.compute_id !== computeId(context))
    throw new CmlRefusal(404, `Compute host not found: ${params.compute_id}`)
  return context
}

const admission = object<{ admission_state: AdmissionState }, object>(
  { admission_state: oneOf(...ADMISSION_STATES) },
  {},
)

/** An all-in-one server can only be cordoned and uncordoned. */
function admitted(call: UserCall) {
  const context = theCompute(call)
  const { admission_state } = jsonBody(call.request.body, admission)
  if (admission_state !== 'ONLINE' && admission_state !== 'READY') {
    throw new CmlRefusal(
      409,
      `Compute host cannot change from ${context.server.admission_state} to ${admission_state}.`,
    )
  }
  const server = { ...context.server, admission_state }
  return { ...OK(computeHost({ ...context, server })), change: { server } }
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

function maintained({ context, request }: UserCall) {
  const before = context.server.maintenance
  const { maintenance_mode = before.is_on, notice = before.notice } = jsonBody(request.body, maintenanceUpdate)
  const server = { ...context.server, maintenance: { is_on: maintenance_mode, notice } }
  const event = { category: 'maintenance_state_change', at_ms: context.nowMs, data: { maintenance_mode } }
  return { ...OK(maintenanceView({ ...context, server })), change: { server, events: [event] } }
}

const CONNECTORS = [
  { label: 'NAT', device_name: 'virbr0', forwarding: 'NAT', ip_networks: ['192.168.255.0/24'] },
  { label: 'System Bridge', device_name: 'bridge0', forwarding: 'BRIDGE', ip_networks: [] },
] as const

const connectorsOf = (context: CmlServerContext) =>
  CONNECTORS.map(({ label, device_name, forwarding, ip_networks }) => ({
    id: context.uuid('connector', device_name),
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

/** Reasons why the server isn't ready yet. */
export const startupScheduler = (context: CmlServerContext) => ({
  licensing_loaded: true,
  core_driver_connected: context.isBooted,
  node_definitions_loaded: true,
  lld_connected: context.isBooted,
  lld_synced: context.isBooted,
  system_ready: isReady(context),
})

export const computeDiagnostics = (context: CmlServerContext) => ({
  [computeId(context)]: {
    identifier: computeId(context),
    host_address: context.address,
    hostname: hostnameOf(context),
    link_driver: 'bridge',
    kvm_vmx_enabled: context.faults.kvm_vmx_enabled ?? context.host.vmx,
    is_controller: true,
    is_connector: true,
    is_simulator: true,
    readiness: { libvirt: true, fabric: true, device_mux: true, refplat_images_available: true, docker_shim: true },
    lld_consistency: { missing_nodes: [], orphaned_nodes: [] },
    fabric: [],
    statistics: systemStats(context).computes[computeId(context)]?.stats,
    admission_state: context.server.admission_state,
  },
})

export const SYSTEM_ROUTES: readonly Route[] = [
  open('GET /system_information', ({ context }) => OK(systemInformation(context))),
  user('GET /system_stats', ({ context }) => OK(systemStats(context))),
  user('GET /system_health', ({ context }) => OK(systemHealth(context))),
  user('GET /system/compute_hosts', ({ context }) => OK([computeHost(context)])),
  user('GET /system/compute_hosts/:compute_id', call => OK(computeHost(theCompute(call)))),
  admin('PATCH /system/compute_hosts/:compute_id', admitted),
  open('GET /system/maintenance_mode', ({ context }) => OK(maintenanceView(context))),
  admin('PATCH /system/maintenance_mode', maintained),
  user('GET /system/external_connectors', ({ context }) => OK(connectorsOf(context))),
]
