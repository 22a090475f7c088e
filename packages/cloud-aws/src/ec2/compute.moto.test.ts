import { DescribeSubnetsCommand, EC2Client, RunInstancesCommand } from '@aws-sdk/client-ec2'
import { type ComputeSetup, computeConformance, type OpenCompute } from '@lcm/cloud/conformance/compute'
import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll } from 'vitest'
import { MOTO_CREDENTIALS, type MotoServer, startMoto } from '../testing/moto-server.ts'
import { awsCompute } from './compute.ts'

const REGION = 'us-east-1'
const INSTANCE_TYPE = 'm5zn.metal'
const IMAGE = { image_id: 'ami-0a000000000000002', name: 'cml-2.9.1-20251104' }

let moto: MotoServer
beforeAll(async () => {
  moto = await startMoto()
})
afterAll(() => moto.close())

/** Setup for the conformance suite, in the account's default VPC. */
async function placeOf(ec2: EC2Client): Promise<ComputeSetup> {
  const subnetIn = async (zone: string) => {
    const Filters = [{ Name: 'availability-zone', Values: [zone] }]
    const { Subnets } = await ec2.send(new DescribeSubnetsCommand({ Filters }))
    return Subnets?.[0]?.SubnetId ?? ''
  }
  const subnet_id = await subnetIn(`${REGION}a`)
  return {
    region: REGION,
    other_region: 'eu-west-1',
    subnet_id,
    other_subnet_id: await subnetIn(`${REGION}b`),
    instance_type: INSTANCE_TYPE,
    not_offered: { instance_type: INSTANCE_TYPE, subnet_id },
    images: { name_pattern: 'cml-2.9.1-*', owner: 'self' },
    newest_image: { name: IMAGE.name, created_at: '2025-11-04T09:00:00.000Z' },
  }
}

async function open(): Promise<OpenCompute> {
  await moto.reset()
  const access = { endpoint: moto.url, credentials: MOTO_CREDENTIALS }
  const ec2 = new EC2Client({ ...access, region: REGION })
  const compute = awsCompute({ ...access, clock: systemClock })
  const place = await placeOf(ec2)
  return {
    compute,
    place,
    // State changes are immediate in moto.
    advance: async () => undefined,
    async plant(count, tags) {
      const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }))
      await ec2.send(
        new RunInstancesCommand({
          ImageId: IMAGE.image_id,
          InstanceType: INSTANCE_TYPE,
          SubnetId: place.subnet_id,
          MinCount: count,
          MaxCount: count,
          TagSpecifications: [{ ResourceType: 'instance', Tags }],
        }),
      )
    },
    async close() {
      compute.close()
      ec2.destroy()
    },
  }
}

computeConformance('moto', open, {
  client_tokens: false,
  slow_states: false,
  exact_power: false,
  offerings: false,
  backslashes: false,
  checked_tags: false,
})
