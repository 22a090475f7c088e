import { anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { anInstance, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toMs } from '../instant.ts'
import { endpointOf, recordedEndpoint, whyTagIsIgnored } from './cml-endpoint.ts'
import { decideWorker } from './decide.ts'
import { type Instance, TAG } from './ec2-instance.ts'
import { WORKER_POLICY } from './observation.ts'
import { type Worker, withChanges } from './worker.ts'

const OWN = {
  public_ip: '203.0.113.7',
  private_ip: '10.0.0.7',
  public_dns: 'ec2-203-0-113-7.compute-1.amazonaws.com',
  private_dns: 'ip-10-0-0-7.ec2.internal',
}
const tagged = (endpoint: string, more: Partial<Instance> = {}): Instance =>
  anInstance({ ...OWN, tags: { ...anInstance().tags, [TAG.endpoint]: endpoint }, ...more })

const foreign = (host: string) => ({ code: 'endpoint_address_foreign', params: { host, instance_id: 'i-1' } })
const MALFORMED = { code: 'endpoint_malformed' }
const nodePort = (port: number) => ({ code: 'endpoint_port_of_nodes', params: { port, first: 2000, last: 7999 } })

describe('the tag cml-endpoint', () => {
  it.each([
    ['its public address', 'https://203.0.113.7', 'https://203.0.113.7'],
    ['its public address with a port', 'https://203.0.113.7:8443/', 'https://203.0.113.7:8443'],
    ['its private address', 'https://10.0.0.7:8443', 'https://10.0.0.7:8443'],
    ['its public name', `https://${OWN.public_dns}:8443`, 'https://203.0.113.7:8443'],
    ['its private name', `https://${OWN.private_dns.toUpperCase()}`, 'https://10.0.0.7'],
    ['a port below those of nodes', 'https://10.0.0.7:1999', 'https://10.0.0.7:1999'],
    ['a port above those of nodes', 'https://10.0.0.7:8000', 'https://10.0.0.7:8000'],
  ])('may name %s', (_, tag, endpoint) => {
    expect(endpointOf(tagged(tag), 'public')).toBe(endpoint)
    expect(whyTagIsIgnored(tagged(tag))).toBeNull()
  })

  it.each([
    ['another machine', 'https://203.0.113.8', foreign('203.0.113.8')],
    ['loopback', 'https://127.0.0.1:19443', foreign('127.0.0.1')],
    ['a name that EC2 did not give', 'https://lab.example:8443', foreign('lab.example')],
    ['its own address spelled in another way', 'https://0313.0.113.7', foreign('0313.0.113.7')],
    ['a user name that resembles its address', 'https://203.0.113.7@203.0.113.8', MALFORMED],
    ['a path', 'https://203.0.113.7/elsewhere', MALFORMED],
    ['plain http', 'http://203.0.113.7', MALFORMED],
    ['the first port of nodes', 'https://203.0.113.7:2000', nodePort(2000)],
    ['the last port of nodes', 'https://203.0.113.7:07999', nodePort(7999)],
    ['a port that is none', 'https://203.0.113.7:65536', { code: 'endpoint_port_invalid', params: { port: '65536' } }],
    ['nothing', '', MALFORMED],
  ])('that names %s is ignored, with the reason', (_, tag, why) => {
    expect(endpointOf(tagged(tag), 'public')).toBe('https://203.0.113.7')
    expect(endpointOf(tagged(tag), 'private')).toBe('https://10.0.0.7')
    expect(whyTagIsIgnored(tagged(tag))).toMatchObject(why)
  })

  it('gives no endpoint to a machine that is not running or has no address', () => {
    expect(endpointOf(tagged('https://203.0.113.7', { state: 'pending' }), 'public')).toBeNull()
    expect(endpointOf(tagged('https://203.0.113.7', { public_ip: null, private_ip: null }), 'public')).toBeNull()
  })
})

describe('a worker whose instance is tagged with a foreign endpoint', () => {
  const policy = { ...WORKER_POLICY, fleet: 'lcm' }
  const decide = (worker: Worker, instance: Partial<Instance>) =>
    decideWorker(
      worker,
      anObservation({ ec2: anEc2Observation(instance) }),
      policy,
      toMs(aWorker().entered_status_at) + 1000,
    )
  const tags = { tags: { ...anInstance().tags, [TAG.endpoint]: 'https://203.0.113.66' } }
  const pinned = onMachine({ cml: { ...aWorker().cml, certificate_sha256: 'ab'.repeat(32) } })

  it('keeps its endpoint, and sets one condition', () => {
    const decided = decide(pinned, tags)
    const because = {
      code: 'endpoint_tag_ignored',
      params: {
        tag: 'cml-endpoint',
        value: 'https://203.0.113.66',
        cause: { code: 'endpoint_address_foreign', params: { host: '203.0.113.66' } },
      },
    }
    expect(decided.because).toMatchObject(because)
    expect(decided.action).toMatchObject({
      changes: { conditions: [{ type: 'EndpointTagIgnored', status: true, reason: because }] },
    })
    if (decided.action.kind !== 'write') return
    expect(decided.action.changes.https_endpoint).toBeUndefined()
    const reported = withChanges(pinned, decided.action.changes)
    expect(decide(reported, tags).action.kind).toBe('nothing')
    const pending = decide(reported, { ...tags, state: 'pending' })
    expect(pending.because.code, 'addresses come with running').toBe('ec2_reports')
    expect(decide(reported, {})).toMatchObject({
      because: { code: 'tags_changed' },
      action: { changes: { conditions: [] } },
    })
  })
})

describe('the endpoint on record', () => {
  it.each<[string, Partial<Worker>, string | null]>([
    ['of its public address', { https_endpoint: 'https://203.0.113.7:8443' }, 'https://203.0.113.7:8443'],
    ['of its private address', { https_endpoint: 'https://10.0.0.7' }, 'https://10.0.0.7'],
    ['that an older version took from a foreign tag', { https_endpoint: 'https://127.0.0.1:19443' }, null],
    ['that an older version took from a tag with a port of nodes', { https_endpoint: 'https://10.0.0.7:2222' }, null],
    ['of plain http', { https_endpoint: 'http://10.0.0.7' }, null],
    ['of a worker without one', { https_endpoint: null }, null],
  ])('%s is used only when it is its own', (_, more, endpoint) => {
    const { public_ip, private_ip } = OWN
    expect(recordedEndpoint(aWorker({ public_ip, private_ip, ...more }))).toBe(endpoint)
  })
})
