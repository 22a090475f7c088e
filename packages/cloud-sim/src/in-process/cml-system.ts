import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { CmlComputeHealth, CmlEvent, CmlHealth, CmlLicensing, CmlStats, CmlSystem } from '@lcm/cloud/cml-system'
import { redactLicenseTokens } from '@lcm/cloud/redact-license-token'
import { NODES_FEATURE } from '../cml/license/licensing-answer.ts'
import type { SimModel } from '../sim-model.ts'
import { type CmlCall, type CmlSessions, cmlLogins } from './cml-calls.ts'
import { probeCml } from './cml-probe.ts'
import { flagIn, instantIn, listIn, numberIn, recordIn, textIn } from './json-readers.ts'

/** The CmlSystem port on the model, without sockets or timers: for the whole-system simulation. */
export function simCmlSystem(model: SimModel): CmlSystem {
  const sessions = cmlLogins(model)
  const read = async (login: CmlLogin, path: string, signal: AbortSignal): Promise<unknown> =>
    sessions.ask(login, { method: 'GET', path }, signal).body
  return {
    probe: async (endpoint, signal) => probeCml(model, endpoint, signal),
    stats: async (login, signal) => statsIn(await read(login, '/system_stats', signal)),
    health: async (login, signal) => healthIn(await read(login, '/system_health', signal)),
    async nodeDefinitions(login, signal) {
      const definitions = listIn(await read(login, '/simplified_node_definitions', signal))
      return definitions.flatMap(one => textIn(recordIn(one).id) ?? []).sort()
    },
    licensing: async (login, signal) => licensingIn(await read(login, '/licensing', signal)),
    async register(login, request, signal) {
      for (const ask of registrationAsks(licensingIn(await read(login, '/licensing', signal)), request)) {
        sessions.ask(login, ask, signal)
      }
    },
    deregister: async (login, signal) => deregistered(sessions, login, signal),
    async activity(login, signal) {
      const own_user_id = sessions.userId(login, signal)
      const { opt_in } = recordIn(await read(login, '/telemetry', signal))
      if (opt_in !== true) return { own_user_id, is_collected: false, events: [] }
      const events = listIn(await read(login, '/telemetry/events', signal)).flatMap(event => eventIn(event) ?? [])
      return { own_user_id, is_collected: true, events }
    },
  }
}

/** The product only if it changes: CML rejects setting the active one. */
function registrationAsks(
  now: CmlLicensing,
  { product, token, extra_nodes }: Parameters<CmlSystem['register']>[1],
): readonly CmlCall[] {
  const count = [{ id: NODES_FEATURE, count: extra_nodes }]
  const isEnterprise = (product ?? now.product) === 'CML_Enterprise'
  const set: CmlCall = { method: 'PUT', path: '/licensing/product_license', json: product }
  const extend: CmlCall = { method: 'PATCH', path: '/licensing/features', json: count }
  return [
    ...(product !== null && product !== now.product ? [set] : []),
    { method: 'POST', path: '/licensing/registration', json: { token, reregister: false } },
    ...(isEnterprise && extra_nodes !== null ? [extend] : []),
  ]
}

function deregistered(sessions: CmlSessions, login: CmlLogin, signal: AbortSignal) {
  const ask: CmlCall = { method: 'DELETE', path: '/licensing/deregistration', expected: [400] }
  const { status } = sessions.ask(login, ask, signal)
  if (status === 400) return 'not_registered'
  return status === 202 ? 'left_behind' : 'returned'
}

function statsIn(body: unknown): CmlStats {
  const { all, computes } = recordIn(body)
  const { cpu, memory, disk } = recordIn(all)
  const doms = Object.values(recordIn(computes)).map(one => recordIn(recordIn(recordIn(one).stats).dominfo))
  const sum = (name: string) => doms.reduce((total, dom) => total + (numberIn(dom[name]) ?? 0), 0)
  const percent = numberIn(recordIn(cpu).percent)
  return {
    cpu_count: numberIn(recordIn(cpu).count),
    cpu_utilization: percent === null ? null : percent / 100,
    memory_utilization: shareIn(memory),
    disk_utilization: shareIn(disk),
    memory_total_bytes: numberIn(recordIn(memory).total),
    disk_total_bytes: numberIn(recordIn(disk).total),
    running_nodes: sum('running_nodes'),
    running_orphans: sum('running_orphans'),
  }
}

function shareIn(body: unknown): number | null {
  const { used, total } = recordIn(body)
  return typeof used === 'number' && typeof total === 'number' && total > 0 ? used / total : null
}

function healthIn(body: unknown): CmlHealth {
  const { valid, is_licensed, is_enterprise, computes } = recordIn(body)
  return {
    valid: flagIn(valid),
    is_licensed: flagIn(is_licensed),
    is_enterprise: flagIn(is_enterprise),
    computes: Object.values(recordIn(computes)).map(computeIn),
  }
}

function computeIn(body: unknown): CmlComputeHealth {
  const compute = recordIn(body)
  return {
    hostname: textIn(compute.hostname) ?? '',
    valid: flagIn(compute.valid),
    is_controller: flagIn(compute.is_controller),
    kvm_vmx_enabled: flagIn(compute.kvm_vmx_enabled),
    enough_cpus: flagIn(compute.enough_cpus),
    refplat_images_available: flagIn(compute.refplat_images_available),
    admission_state: textIn(compute.admission_state),
  }
}

function licensingIn(body: unknown): CmlLicensing {
  const { registration, authorization, udi, product_license } = recordIn(body)
  const failure = textIn(recordIn(recordIn(registration).register_time).failure)
  const { hostname, product_uuid } = recordIn(udi)
  return {
    registration: textIn(recordIn(registration).status) ?? '',
    authorization: textIn(recordIn(authorization).status) ?? '',
    failure: failure === null || failure === 'OK' ? null : redactLicenseTokens(failure),
    udi: { hostname: textIn(hostname) ?? '', product_uuid: textIn(product_uuid) ?? '' },
    product: textIn(recordIn(product_license).active),
  }
}

function eventIn(body: unknown): CmlEvent | null {
  const { category, timestamp, data } = recordIn(body)
  const at = instantIn(timestamp)
  if (at === null) return null
  const { user_id, lab_id, node_id } = recordIn(data)
  const names = { user_id: textIn(user_id), lab_id: textIn(lab_id), node_id: textIn(node_id) }
  return { category: textIn(category) ?? '', at, ...names }
}
