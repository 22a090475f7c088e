import type { Compute } from '@lcm/cloud/compute'
import { CloudError } from '@lcm/cloud/errors'
import { awsCompute } from '@lcm/cloud-aws/ec2/compute'
import { startSimServer } from '@lcm/cloud-sim/server/server'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/sim-model'
import { type Clock, systemClock } from '@lcm/runtime/clock'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'

const REGION = 'us-east-1'
const SUBNETS = ['subnet-use1a', 'subnet-use1b', 'subnet-use1c'] as const
const AT_ONCE = 20
const BETWEEN_CALLS_MS = 600
const SILENT = { info: () => undefined, warn: () => undefined }

/** Answers are held for milliseconds instead of seconds: what counts is that they come late. */
const HASTY: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms / 1000, run) }

async function openHostile(seed: number) {
  const time = manualClock()
  const model = openSimModel({ seed, clock: time, preset: 'hostile' })
  const server = await startSimServer({ model, clock: HASTY, log: SILENT, cml: 'off' })
  const credentials = { accessKeyId: 'simulated', secretAccessKey: 'simulated' }
  const compute = awsCompute({ clock: systemClock, endpoint: server.url, credentials })
  return {
    model,
    compute,
    pass: () => time.jumpWallClock(BETWEEN_CALLS_MS),
    async close() {
      compute.close()
      await server.close()
      model.close()
    },
  }
}

type Opened = Awaited<ReturnType<typeof openHostile>>

function imageIn(model: SimModel): string {
  const filters = [{ name: 'state', values: ['available'] }]
  const query = { image_ids: [], owners: ['self'], filters, max_results: null, next_token: null }
  return model.ec2.describeImages(REGION, query).items[0]?.image_id ?? ''
}

const requestOf = (image_id: string, worker: number, attempt: number) => ({
  client_token: `worker-${worker}-attempt-${attempt}`,
  user_data: null,
  parameters: {
    image_id,
    instance_type: 'c5.metal',
    subnet_id: SUBNETS[attempt % SUBNETS.length] ?? SUBNETS[0],
    security_group_ids: [],
    key_name: null,
    root_device: '/dev/sda1',
    root_volume_gb: 200,
    volume_encrypted: true,
    iam_instance_profile: null,
    nested_virtualization: false,
    user_data_ref: null,
    associate_public_ip: null,
    tags: { 'lcm:worker_id': `worker-${worker}` },
  },
})

/** The classes that say for certain that this attempt has no living machine. */
const DEFINITE: readonly string[] = ['capacity', 'attempt_spent']

interface Launched {
  readonly instance_id: string
  readonly calls: number
  /** Tokens whose machine had died before the answer came. */
  readonly spent: readonly string[]
}

/** Repeats the same attempt until its outcome is definite, and only then makes another. */
async function launch(
  { model, compute, pass }: Opened,
  worker: number,
  launching: Compute['launch'],
): Promise<Launched> {
  const image = imageIn(model)
  const spent: string[] = []
  for (let calls = 1, attempt = 1; ; calls++) {
    const request = requestOf(image, worker, attempt)
    pass()
    try {
      const { instance_id } = await launching.call(compute, REGION, request, new AbortController().signal)
      return { instance_id, calls, spent }
    } catch (error) {
      if (!(error instanceof CloudError)) throw error
      if (!DEFINITE.includes(error.errorClass)) continue
      if (error.errorClass === 'attempt_spent') spent.push(request.client_token)
      attempt += 1
    }
  }
}

async function launchAll(opened: Opened, count: number, launching: Compute['launch'] = opened.compute.launch) {
  const results: Launched[] = []
  let next = 0
  const line = async () => {
    while (next < count) {
      const worker = next
      next += 1
      results.push(await launch(opened, worker, launching))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, line))
  return results
}

it('launches exactly one machine per worker for 1,000 workers in a hostile cloud', { timeout: 60_000 }, async () => {
  const opened = await openHostile(41)
  const results = await launchAll(opened, 1000)
  const spent = new Set(results.flatMap(result => result.spent))
  const machines = opened.model.machines().filter(({ instance }) => !spent.has(instance.client_token ?? ''))
  await opened.close()
  expect(machines).toHaveLength(1000)
  expect(new Set(machines.map(({ instance }) => instance.tags['lcm:worker_id'])).size).toBe(1000)
  expect(new Set(results.map(({ instance_id }) => instance_id))).toEqual(
    new Set(machines.map(({ instance }) => instance.instance_id)),
  )
  // The cloud was hostile: hundreds of calls had to be repeated.
  expect(results.reduce((sum, { calls }) => sum + calls, 0)).toBeGreaterThan(1300)
})

it('launches more with a new token for every call, so the proof can fail', { timeout: 60_000 }, async () => {
  const opened = await openHostile(42)
  let calls = 0
  const results = await launchAll(opened, 200, (region, request, signal) => {
    calls += 1
    return opened.compute.launch(region, { ...request, client_token: `call-${calls}` }, signal)
  })
  const machines = opened.model.machines()
  await opened.close()
  expect(results).toHaveLength(200)
  expect(machines.length).toBeGreaterThan(210)
})
