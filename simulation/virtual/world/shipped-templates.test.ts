import { readdirSync, readFileSync } from 'node:fs'
import { HOST_RESERVE_MIB } from '@lcm/cloud-sim/cml/host-hardware'
import { INSTANCE_TYPES } from '@lcm/cloud-sim/ec2/regions-and-instance-types'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const FOLDER = new URL('../../../deploy/templates/', import.meta.url)
/** The system, CML and the images of its nodes. */
const SYSTEM_DISK_GB = 50

describe.each(readdirSync(FOLDER))('template %s', file => {
  const { instance_types, capacity, root_volume_gb } = parse(readFileSync(new URL(file, FOLDER), 'utf8'))

  /** A worker filled to its declared capacity would leave the last node QUEUED forever. */
  it('declares no memory that the server itself needs', () => {
    for (const name of instance_types) {
      const memory = INSTANCE_TYPES.find(type => type.name === name)?.memory_gib ?? 0
      expect(capacity.memory_gb).toBeLessThanOrEqual(memory - HOST_RESERVE_MIB / 1024)
    }
  })

  it('leaves disk space for the system', () => {
    expect(capacity.storage_gb).toBeLessThanOrEqual(root_volume_gb - SYSTEM_DISK_GB)
  })
})
