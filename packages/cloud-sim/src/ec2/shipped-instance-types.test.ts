import { INSTANCE_TYPES as SHIPPED } from '@lcm/domain/fleet/instance-types'
import { expect, it } from 'vitest'
import { INSTANCE_TYPES } from './regions-and-instance-types.ts'

const ableToRunCml = INSTANCE_TYPES.filter(type => type.metal || type.nested_virtualization)

it.each(ableToRunCml)('$name has the size that LCM prices it by', ({ name, vcpus, memory_gib }) => {
  expect(SHIPPED.get(name)).toMatchObject({ vcpus, memory_gb: memory_gib })
})
