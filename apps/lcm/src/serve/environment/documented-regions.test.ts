import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toMs } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { decideWorker } from '@lcm/domain/worker/decide'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { anObservation } from '@lcm/testkit/observation-builders'
import { aTemplate, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { readRegionsFile } from '../files/regions-file.ts'

/** The example of "Worker Lifecycle & Reconciliation", section 3, as it stands there. */
const EXAMPLE = `# Example region config
aws_region_configs:
  us-east-1:
    region: us-east-1
    security_group_ids: ["sg-abc123"]
    subnet_id: "subnet-xyz789"
    key_name: "cml-workers"
    default_tags:
      environment: "production"
      team: "networking"
`

const regionsIn = (text: string) => {
  const path = join(mkdtempSync(join(tmpdir(), 'lcm-regions-')), 'regions.yaml')
  writeFileSync(path, text)
  return readRegionsFile(path)
}

describe('the region file of the documents', () => {
  it('is accepted as it stands', () => {
    expect(regionsIn(EXAMPLE)).toEqual({
      'us-east-1': {
        security_group_ids: ['sg-abc123'],
        subnets: ['subnet-xyz789'],
        key_name: 'cml-workers',
        default_tags: { environment: 'production', team: 'networking' },
      },
    })
  })

  it('decides how a worker of that region is launched', () => {
    const worker = aWorker({ aws_region: 'us-east-1', tags: { team: 'my own' } })
    const launch = {
      template: aTemplate(),
      region: regionsIn(EXAMPLE)[worker.aws_region] ?? null,
      image: { image_id: 'ami-7', root_device: '/dev/xvda' },
      scarce: new Map(),
      problem: null,
    }
    const seen = anObservation({ ec2: { kind: 'absent', confirmed: false, because: textReason('not seen') }, launch })
    const { action } = decideWorker(worker, seen, WORKER_POLICY, toMs(worker.entered_status_at) + 1_000)
    expect(action).toMatchObject({
      kind: 'open_attempt',
      parameters: {
        security_group_ids: ['sg-abc123'],
        subnet_id: 'subnet-xyz789',
        key_name: 'cml-workers',
        tags: { environment: 'production', team: 'my own' },
      },
    })
  })

  it('is refused where `region` is not the key of its entry', () => {
    const message = /regions file: .*region is eu-west-1, but its entry is us-east-1.*remove the line "region"/s
    expect(() => regionsIn(EXAMPLE.replace('region: us-east-1', 'region: eu-west-1'))).toThrow(message)
    expect(() => regionsIn(EXAMPLE.replace('region: us-east-1', 'region:'))).toThrow(/us-east-1.*region/)
  })

  it('is refused where one subnet and a list of subnets are named', () => {
    const both = EXAMPLE.replace('key_name', 'subnets: [subnet-a]\n    key_name')
    expect(() => regionsIn(both)).toThrow(/subnet_id and subnets are both set.*keep one of them/s)
  })
})
