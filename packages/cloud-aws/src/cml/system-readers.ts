import type { CmlComputeHealth, CmlEvent, CmlHealth, CmlLicensing, CmlStats } from '@lcm/cloud/cml-system'
import { redactLicenseTokens } from '@lcm/cloud/redact-license-token'
import { fieldOf, flagIn, instantIn, numberIn, textIn, valuesOf } from './json-readers.ts'

/** CML's sums over its hosts don't define summed percentages, so we compute our own. */
export function statsIn(answer: unknown): CmlStats {
  const computes = valuesOf(fieldOf(answer, 'computes')).map(compute => fieldOf(compute, 'stats'))
  const hosts = computes.length > 0 ? computes : [fieldOf(answer, 'all')]
  const of = (part: string) => hosts.map(host => fieldOf(host, part))
  return {
    cpu_count: sum(of('cpu'), 'count'),
    cpu_utilization: cpuShare(of('cpu')),
    memory_utilization: usedShare(of('memory')),
    disk_utilization: usedShare(of('disk')),
    memory_total_bytes: sum(of('memory'), 'total'),
    disk_total_bytes: sum(of('disk'), 'total'),
    running_nodes: sum(of('dominfo'), 'running_nodes'),
    running_orphans: sum(of('dominfo'), 'running_orphans'),
  }
}

/** Of the hosts that report it; null when none does. */
function sum(parts: readonly unknown[], name: string): number | null {
  const numbers = parts.map(part => numberIn(part, name)).filter(number => number !== null)
  return numbers.length === 0 ? null : numbers.reduce((a, b) => a + b, 0)
}

/** Hosts with more processors weigh more. */
function cpuShare(cpus: readonly unknown[]): number | null {
  const known = cpus.filter(cpu => numberIn(cpu, 'percent') !== null)
  const weighed = known.map(cpu => ({ percent: numberIn(cpu, 'percent') ?? 0, weight: numberIn(cpu, 'count') || 1 }))
  const weight = weighed.reduce((total, cpu) => total + cpu.weight, 0)
  if (weight === 0) return null
  return share(weighed.reduce((total, cpu) => total + cpu.percent * cpu.weight, 0) / weight / 100)
}

function usedShare(parts: readonly unknown[]): number | null {
  const known = parts.filter(part => numberIn(part, 'used') !== null && numberIn(part, 'total'))
  const used = sum(known, 'used')
  const total = sum(known, 'total')
  return used === null || total === null ? null : share(used / total)
}

const share = (ratio: number) => (Number.isFinite(ratio) ? Math.min(1, ratio) : null)

export function healthIn(answer: unknown): CmlHealth {
  return {
    valid: flagIn(answer, 'valid'),
    is_licensed: flagIn(answer, 'is_licensed'),
    is_enterprise: flagIn(answer, 'is_enterprise'),
    computes: valuesOf(fieldOf(answer, 'computes')).map(computeHealthIn),
  }
}

const computeHealthIn = (compute: unknown): CmlComputeHealth => ({
  hostname: textIn(compute, 'hostname') ?? '',
  valid: flagIn(compute, 'valid'),
  is_controller: flagIn(compute, 'is_controller'),
  kvm_vmx_enabled: flagIn(compute, 'kvm_vmx_enabled'),
  enough_cpus: flagIn(compute, 'enough_cpus'),
  refplat_images_available: flagIn(compute, 'refplat_images_available'),
  admission_state: textIn(compute, 'admission_state'),
})

/** Null when the response lacks the registration status. */
export function licensingIn(answer: unknown): CmlLicensing | null {
  const registration = fieldOf(answer, 'registration')
  const status = textIn(registration, 'status')
  const authorization = textIn(fieldOf(answer, 'authorization'), 'status')
  if (status === null || authorization === null) return null
  return {
    registration: status,
    authorization,
    failure: failureIn(fieldOf(registration, 'register_time')),
    udi: udiIn(fieldOf(answer, 'udi')),
    product: textIn(fieldOf(answer, 'product_license'), 'active'),
  }
}

/** CML writes OK when nothing failed. Anything like a token is removed. */
function failureIn(registerTime: unknown): string | null {
  const failure = textIn(registerTime, 'failure')?.trim() ?? ''
  if (failure === '' || failure.toUpperCase() === 'OK' || textIn(registerTime, 'success') === 'SUCCESS') return null
  return redactLicenseTokens(failure)
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i

/** One text in older versions. */
function udiIn(udi: unknown): CmlLicensing['udi'] {
  if (typeof udi === 'string' && udi !== '') {
    const [, hostname = ''] = /host_?name\W+([\w.-]+)/i.exec(udi) ?? []
    return { hostname, product_uuid: UUID.exec(udi)?.[0] ?? udi }
  }
  const product_uuid = textIn(udi, 'product_uuid')
  return product_uuid === null ? null : { hostname: textIn(udi, 'hostname') ?? '', product_uuid }
}

/** Null for an event without a valid time. */
export function eventIn(value: unknown): CmlEvent | null {
  const category = textIn(value, 'category')
  const at = instantIn(value, 'timestamp')
  if (category === null || at === null) return null
  const data = fieldOf(value, 'data')
  return {
    category,
    at,
    user_id: textIn(data, 'user_id'),
    lab_id: textIn(data, 'lab_id'),
    node_id: textIn(data, 'node_id'),
  }
}
