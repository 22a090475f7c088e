import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { SIM_COMPUTE_SETUP } from '../conformance/compute-and-metrics-fixtures.ts'
import { openSimModel } from '../sim-model.ts'
import type { RunRequest } from './run-instances.ts'

const { region } = SIM_COMPUTE_SETUP

function open() {
  const clock = manualClock()
  const model = openSimModel({ seed: 11, clock })
  const query = { image_ids: [], owners: ['self'], filters: [], max_results: null, next_token: null }
  const images = model.ec2.describeImages(region, query).items
  const request = (changes: Partial<RunRequest> = {}): RunRequest => ({
    image_id: images.find(image => image.state === 'available')?.image_id ?? '',
    instance_type: 'c5.metal',
    subnet_id: 'subnet-use1a',
    client_token: null,
    count: 1,
    nested_virtualization: false,
    tags: {},
    canonical: '',
    ...changes,
  })
  const run = (changes: Partial<RunRequest> = {}) => model.ec2.runInstances(region, request(changes))
  return { clock, model, images, run }
}

const refusal = (code: string) => expect.objectContaining({ name: 'Ec2Refusal', code })

describe('RunInstances', () => {
  it('launches several machines as one reservation under one token', () => {
    const { run } = open()
    const launched = run({ count: 3, client_token: 't' })
    expect(new Set(launched.map(machine => machine.instance.reservation_id)).size).toBe(1)
    expect(new Set(launched.map(machine => machine.private_ip)).size).toBe(3)
    expect(run({ count: 3, client_token: 't' })).toEqual(launched)
  })

  it('limits a token to the region when no subnet is named', () => {
    const { run } = open()
    const first = run({ subnet_id: null, client_token: 't' })
    expect(run({ subnet_id: null, client_token: 't' })).toEqual(first)
    expect(run({ client_token: 't' })).not.toEqual(first)
  })

  it('rejects what EC2 rejects', () => {
    const { run, images } = open()
    const unfinished = images.find(image => image.state === 'pending')?.image_id ?? ''
    expect(() => run({ client_token: 'x'.repeat(65) })).toThrow(refusal('InvalidParameterValue'))
    expect(() => run({ count: 0 })).toThrow(refusal('InvalidParameterValue'))
    expect(() => run({ image_id: unfinished })).toThrow(refusal('InvalidAMIID.Unavailable'))
    expect(() => run({ image_id: 'x' })).toThrow(refusal('InvalidAMIID.Malformed'))
    expect(() => run({ tags: { 'aws:x': '1' } })).toThrow(refusal('InvalidParameterValue'))
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 'v']))
    expect(() => run({ tags: many })).toThrow(refusal('TagLimitExceeded'))
  })

  it("doesn't know an id for a moment after returning it", () => {
    const { run, model, clock } = open()
    const ids = run({ count: 50 }).map(machine => machine.instance.instance_id)
    expect(() => model.ec2.terminateInstances(region, { ids })).toThrow(refusal('InvalidInstanceID.NotFound'))
    clock.jumpWallClock(2000)
    expect(model.ec2.terminateInstances(region, { ids })).toHaveLength(50)
  })

  it('shows an address and the endpoint tag once the machine is running', () => {
    const { run, model, clock } = open()
    const id = run()[0]?.instance.instance_id ?? ''
    expect(model.machine(id)).toMatchObject({ public_ip: null, tags: {} })
    clock.jumpWallClock(90_000)
    const machine = model.machine(id)
    expect(machine?.tags).toEqual({ 'cml-endpoint': `https://${machine?.public_ip}:8443` })
    expect(machine?.public_ip).toBe(machine?.private_ip)
  })

  it('boots a virtual machine faster than bare metal', () => {
    const { run, model } = open()
    const ready = (type: string) => run({ instance_type: type })[0]?.instance.boot.at(-1)?.from_ms ?? 0
    expect(ready('m8i.4xlarge') - model.now()).toBeLessThan(8.5 * 60_000)
  })
})

describe('tags', () => {
  it('can be added and removed', () => {
    const { run, model, clock } = open()
    const ids = [run({ tags: { a: '1', b: '2' } })[0]?.instance.instance_id ?? '']
    clock.jumpWallClock(5000)
    model.ec2.createTags(region, { ids, tags: { c: '3' } })
    model.ec2.deleteTags(region, {
      ids,
      tags: [
        { key: 'a', value: null },
        { key: 'b', value: 'other' },
      ],
    })
    expect(model.machine(ids[0] ?? '')?.tags).toEqual({ b: '2', c: '3' })
    model.ec2.deleteTags(region, { ids, tags: [] })
    expect(model.machine(ids[0] ?? '')?.tags).toEqual({})
    expect(() => model.ec2.createTags(region, { ids, tags: { 'aws:x': '' } })).toThrow('reserved')
  })
})
