import { RESOURCES, STORE_SCHEMA } from '@lcm/control-plane/resources'
import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { BOOT_CONDITIONS } from '@lcm/domain/worker/boot-stages'
import type { Instance } from '@lcm/domain/worker/ec2-instance'
import type { Worker } from '@lcm/domain/worker/worker'
import { systemClock } from '@lcm/runtime/clock'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { anAttempt, aWorker } from '@lcm/testkit/test-data-builders'

const AT_ONCE = 256

interface Cloud {
  readonly region: string
  /** Endpoint of the shared CML, if there is one. */
  readonly certificate_sha256?: string | null
}

/** A store with one settled worker for every machine of the cloud. */
export async function recordFleet(file: string, cloud: Cloud, instances: readonly Instance[]): Promise<void> {
  const store = openSqliteStore(file, { schema: STORE_SCHEMA })
  const workers = store.collection(RESOURCES.workers)
  for (let from = 0; from < instances.length; from += AT_ONCE) {
    const some = instances.slice(from, from + AT_ONCE)
    await Promise.all(some.map((instance, n) => workers.insert(workerOf(instance, cloud, from + n))))
  }
  await store.close()
}

function workerOf(instance: Instance, { region, certificate_sha256 = null }: Cloud, index: number): Worker {
  const base = aWorker()
  return aWorker({
    // Too young to be paused as idle.
    created_at: toInstant(systemClock.now()),
    id: `w-${String(index).padStart(13, '0')}`,
    name: `metal-${index}`,
    aws_region: region,
    status: 'RUNNING',
    desired_status: 'RUNNING',
    service_status: 'AVAILABLE',
    conditions: BOOT_CONDITIONS.map(type => ({
      type,
      status: true,
      reason: reason('boot_stage_passed'),
      since: base.created_at,
    })),
    launch: anAttempt({ client_token: String(index).padStart(64, '0') }),
    ec2_instance_id: instance.instance_id,
    instance_type: instance.instance_type,
    ami_id: instance.image_id,
    availability_zone: instance.availability_zone,
    public_ip: instance.public_ip,
    private_ip: instance.private_ip,
    https_endpoint: instance.tags['cml-endpoint'] ?? `https://${instance.public_ip}`,
    cml: { ...base.cml, version: '2.9.1+build.7', certificate_sha256: certificate_sha256 ?? 'ab'.repeat(32) },
  })
}
