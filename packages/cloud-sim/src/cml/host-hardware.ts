import { INSTANCE_TYPES } from '../ec2/regions-and-instance-types.ts'

/** Hardware of a CML server. */
export interface CmlHost {
  readonly cpus: number
  readonly ram_mib: number
  readonly disk_bytes: number
  /** Whether its processors support nested virtualization. */
  readonly vmx: boolean
}

const MIB_PER_GIB = 1024
const DISK_BYTES = 64 * 1024 ** 3

export function hostOf(instanceType: string): CmlHost {
  const type = INSTANCE_TYPES.find(({ name }) => name === instanceType)
  return {
    cpus: type?.vcpus ?? 16,
    ram_mib: (type?.memory_gib ?? 64) * MIB_PER_GIB,
    disk_bytes: DISK_BYTES,
    vmx: type?.metal === true || type?.nested_virtualization === true,
  }
}

/** Memory of the operating system and CML itself. */
export const HOST_RESERVE_MIB = 3 * MIB_PER_GIB
