import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { plantMachines, SIM_COMPUTE_SETUP } from '../conformance/compute-and-metrics-fixtures.ts'
import { Ec2Refusal } from '../ec2/refusal.ts'
import { openSimModel, type SimModel } from '../sim-model.ts'
import { ec2Content } from './ec2-actions.ts'
import { parseEc2Query } from './ec2-query.ts'

const MINUTE = 60_000
let clock = manualClock()
let model: SimModel
let id = ''
beforeEach(() => {
  clock = manualClock()
  model = openSimModel({ seed: 7, clock })
  plantMachines(model, 1, { Name: 'a', team: 'b' })
  clock.jumpWallClock(3000)
  id = model.machines()[0]?.instance.instance_id ?? ''
})

const call = (action: string, form: Record<string, string> = {}) =>
  ec2Content(
    model,
    SIM_COMPUTE_SETUP.region,
    parseEc2Query(new URLSearchParams({ Action: action, ...form }).toString()),
  )

const named = (...names: readonly string[]) =>
  Object.fromEntries(names.map((value, n) => [`InstanceId.${n + 1}`, value]))

const filter = (name: string, value: string) => ({ 'Filter.1.Name': name, 'Filter.1.Value.1': value })

describe('DescribeInstanceStatus', () => {
  it('shows only running machines, whose checks take minutes on bare metal', () => {
    expect(call('DescribeInstanceStatus')).toBe('<instanceStatusSet/>')
    expect(call('DescribeInstanceStatus', { IncludeAllInstances: 'true' })).toContain('<status>not-applicable</status>')
    clock.jumpWallClock(3 * MINUTE)
    expect(call('DescribeInstanceStatus')).toContain(
      '<systemStatus><status>initializing</status><details><item><name>reachability</name>' +
        '<status>initializing</status></item></details></systemStatus>',
    )
    clock.jumpWallClock(15 * MINUTE)
    expect(call('DescribeInstanceStatus')).toContain('<instanceStatus><status>ok</status>')
    expect(call('DescribeInstanceStatus', filter('instance-status.status', 'impaired'))).toBe('<instanceStatusSet/>')
  })

  it('lists scheduled events', () => {
    clock.jumpWallClock(15 * MINUTE)
    model.incidents.retire(id, 3600)
    const event = new RegExp(
      '<eventsSet><item><instanceEventId>instance-event-[0-9a-f]{17}</instanceEventId><code>instance-stop</code>' +
        '<description>[^<[]+</description><notBefore>2026-01-01T01:15:03.000Z</notBefore></item></eventsSet>',
    )
    expect(call('DescribeInstanceStatus', filter('event.code', 'instance-stop'))).toMatch(event)
    expect(call('DescribeInstanceStatus', filter('event.code', 'system-reboot'))).toBe('<instanceStatusSet/>')
  })

  it('accepts at most 100 ids, and no page size with ids', () => {
    expect(() => call('DescribeInstanceStatus', named(...Array.from({ length: 101 }, () => id)))).toThrow('At most 100')
    expect(() => call('DescribeInstanceStatus', { ...named(id), MaxResults: '5' })).toThrow('instancesSet')
  })
})

describe('a reboot', () => {
  it('leaves the machine running without responding for a while', () => {
    expect(() => call('RebootInstances', named(id))).toThrow('rebooted')
    clock.jumpWallClock(30 * MINUTE)
    expect(model.machine(id)?.stage).toBe('READY')
    expect(call('RebootInstances', named(id))).toBe('<return>true</return>')
    expect(model.machine(id)).toMatchObject({ state: 'running', stage: 'NOTHING' })
    expect(call('DescribeInstanceStatus')).toContain('<status>initializing</status>')
    clock.jumpWallClock(10 * MINUTE)
    expect(model.machine(id)?.stage).toBe('READY')
    expect(call('DescribeInstanceStatus')).toContain('<status>ok</status>')
  })
})

describe('regions, zones and types', () => {
  it('are described', () => {
    const types = call('DescribeInstanceTypes', filter('bare-metal', 'true'))
    expect(types.match(/<bareMetal>true<\/bareMetal>/g)).toHaveLength(3)
    const m8i = call('DescribeInstanceTypes', { 'InstanceType.1': 'm8i.4xlarge' })
    expect(m8i).toContain('<defaultVCpus>16</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>65536</sizeInMiB>')
    expect(m8i).toContain('<supportedFeatures><item>nested-virtualization</item></supportedFeatures>')
    expect(() => call('DescribeInstanceTypes', { 'InstanceType.1': 'm99.metal' })).toThrow('[m99.metal]')
  })

  it('are offered per zone', () => {
    const wanted = { LocationType: 'availability-zone', ...filter('instance-type', 'm5zn.metal') }
    const zones = [...call('DescribeInstanceTypeOfferings', wanted).matchAll(/<location>([^<]+)/g)].map(
      ([, zone]) => zone,
    )
    expect(zones).toEqual(['us-east-1a', 'us-east-1b'])
    expect(call('DescribeInstanceTypeOfferings', filter('location', 'us-east-1'))).toContain(
      '<location>us-east-1</location>',
    )
    expect(() => call('DescribeInstanceTypeOfferings', { LocationType: 'outpost' })).toThrow('locationType')
  })
})

describe('tags', () => {
  it('are listed by resource, key and value', () => {
    expect(call('DescribeTags', filter('resource-id', id)).match(/<item>/g)).toHaveLength(2)
    expect(call('DescribeTags', filter('key', 'team'))).toBe(
      `<tagSet><item><resourceId>${id}</resourceId><resourceType>instance</resourceType><key>team</key><value>b</value></item></tagSet>`,
    )
    expect(call('DescribeTags', filter('tag:team', 'c'))).toBe('<tagSet/>')
  })

  it('require a resource', () => {
    expect(() => call('CreateTags', { 'Tag.1.Key': 'a' })).toThrow('resourceIdSet')
  })
})

describe('attributes', () => {
  it('protect a machine', () => {
    expect(call('ModifyInstanceAttribute', { InstanceId: id, 'DisableApiTermination.Value': 'true' })).toContain('true')
    expect(() => call('TerminateInstances', named(id))).toThrow('disableApiTermination')
    call('ModifyInstanceAttribute', { InstanceId: id, 'DisableApiTermination.Value': 'false' })
    expect(call('TerminateInstances', named(id))).toContain('shutting-down')
  })

  it('can be set at launch', () => {
    const ImageId = model.machines()[0]?.instance.image_id ?? ''
    const form = { ImageId, InstanceType: 'c5.metal', MinCount: '1', MaxCount: '2', DisableApiStop: 'true' }
    expect(call('RunInstances', form).match(/<instanceId>/g)).toHaveLength(2)
    expect(model.machines().filter(({ instance }) => instance.disable_api_stop)).toHaveLength(2)
    expect(() => call('RunInstances', { ...form, MinCount: '3' })).toThrow('minCount')
    expect(() => call('RunInstances', { ...form, UserData: '%' })).toThrow('BASE64')
  })
})

it('a machine has a public address unless its interface disables it, and one subnet', () => {
  const ImageId = model.machines()[0]?.instance.image_id ?? ''
  const form = { ImageId, InstanceType: 'c5.metal', MinCount: '1', MaxCount: '1' }
  const placed = (associate: string) => ({
    ...form,
    'NetworkInterface.1.SubnetId': SIM_COMPUTE_SETUP.subnet_id,
    'NetworkInterface.1.AssociatePublicIpAddress': associate,
  })
  for (const associate of ['true', 'false']) call('RunInstances', placed(associate))
  clock.jumpWallClock(3 * MINUTE)
  const [open, closed] = model.machines().slice(-2)
  expect([open?.public_ip, closed?.public_ip, closed?.instance.subnet_id]).toEqual([
    open?.private_ip,
    null,
    SIM_COMPUTE_SETUP.subnet_id,
  ])
  expect(closed?.private_ip).toMatch(/^\d/)
  expect(() => call('RunInstances', { ...placed('true'), SubnetId: SIM_COMPUTE_SETUP.subnet_id })).toThrow(
    'instance-level subnet',
  )
})

it("hibernation is rejected, and so are tags that instance metadata can't serve", () => {
  expect(() => call('StopInstances', { ...named(id), Hibernate: 'true' })).toThrow('hibernation')
  const form = {
    ImageId: model.machines()[0]?.instance.image_id ?? '',
    InstanceType: 'c5.metal',
    'TagSpecification.1.ResourceType': 'instance',
    'TagSpecification.1.Tag.1.Key': 'a/b',
    'TagSpecification.1.Tag.1.Value': 'c',
  }
  expect(() => call('RunInstances', { ...form, 'MetadataOptions.InstanceMetadataTags': 'enabled' })).toThrow("'a/b'")
  expect(call('RunInstances', form)).toContain('<key>a/b</key>')
})

it('a dry run costs as many tokens as the call', () => {
  model.faults.patch({ request_limits: true })
  const codes = Array.from({ length: 6 }, () => {
    try {
      return call('RunInstances', { DryRun: 'true' })
    } catch (error) {
      return error instanceof Ec2Refusal ? error.code : ''
    }
  })
  expect(codes).toEqual([...Array.from({ length: 5 }, () => 'DryRunOperation'), 'RequestLimitExceeded'])
})

it('the console shows the output so far', () => {
  clock.jumpWallClock(30 * MINUTE)
  const output = /<output>([^<]+)/.exec(call('GetConsoleOutput', { InstanceId: id }))?.[1] ?? ''
  expect(Buffer.from(output, 'base64').toString()).toContain('virl2-controller: ready')
})

it('a filter accepts at most 200 values, and must be known', () => {
  const values = Array.from({ length: 201 }, (_, n) => [`Filter.1.Value.${n + 1}`, `v${n}`])
  const many = { 'Filter.1.Name': 'tag:Name', ...Object.fromEntries(values) }
  expect(() => call('DescribeInstances', many)).toThrow(expect.objectContaining({ code: 'FilterLimitExceeded' }))
  expect(() => call('DescribeInstances', filter('color', 'red'))).toThrow("'color' is invalid")
  expect(call('DescribeInstances', filter('vpc-id', 'vpc-use1'))).toContain(id)
})
