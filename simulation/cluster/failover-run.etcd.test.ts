import { startEtcd } from '@lcm/coordination/testing/etcd-server'
import { describe, expect, it, type TestContext } from 'vitest'
import { openWorkerCluster } from './clusters/worker-controller-cluster.ts'
import { eventually, startFailoverRun } from './failover-run.ts'
import type { ServiceProcess } from './processes/service-process.ts'

const LEASE_TTL_SECONDS = 2
const CYCLES = 10
const LIMIT_MS = 5 * 60_000
const SOUND = { staleWritesAccepted: 0, termsOutOfOrder: 0, machinesAstray: 0 }

interface Size {
  readonly members?: 1 | 3
  readonly leaseTtlSeconds?: number
}

/** An etcd and a cluster on it, closed after the test. */
async function opened({ onTestFinished }: TestContext, size: Size = {}) {
  const { members = 1, leaseTtlSeconds = LEASE_TTL_SECONDS } = size
  const etcd = await startEtcd({ members })
  onTestFinished(() => etcd.close(), LIMIT_MS)
  const cluster = await openWorkerCluster({ etcd: etcd.endpoints, leaseTtlSeconds })
  onTestFinished(() => cluster.close(), LIMIT_MS)
  return { etcd, cluster, run: await startFailoverRun(cluster) }
}

// Concurrent, because both mostly wait for leases to end.
describe.concurrent('a leader that is lost', () => {
  it(`is replaced after kill -9, ${CYCLES} times, without a lost or duplicate write`, {
    timeout: LIMIT_MS,
  }, async test => {
    const { run } = await opened(test)
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      await run.changeDesiredStatus()
      await run.kill('SIGKILL')
    }
    const verdict = await run.verdict()
    expect(verdict).toMatchObject(SOUND)
    // On a busy machine a leader may also lose its lease and lead again.
    expect(verdict.terms).toBeGreaterThanOrEqual(1 + CYCLES)
    expect(verdict.writes).toBeGreaterThan(CYCLES)
  })

  it(`is refused when it continues after a freeze past its lease, ${CYCLES} times`, {
    timeout: LIMIT_MS,
  }, async test => {
    const { run } = await opened(test)
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      await run.changeDesiredStatus()
      await run.freeze()
      await run.changeDesiredStatus()
    }
    const verdict = await run.verdict()
    expect(verdict).toMatchObject(SOUND)
    expect(verdict.terms).toBeGreaterThan(CYCLES)
  })
})

describe('the API', () => {
  it('keeps the terms after kill -9, and the leader stays', { timeout: LIMIT_MS }, async test => {
    // Long enough that the leader keeps its lease on a busy machine.
    const { cluster, run } = await opened(test, { leaseTtlSeconds: 15 })
    await cluster.restartApi('SIGKILL')
    await run.changeDesiredStatus()
    expect(await run.verdict()).toMatchObject({ ...SOUND, terms: 1 })
    await run.kill('SIGKILL')
    expect(await run.verdict()).toMatchObject({ ...SOUND, terms: 2 })
  })
})

describe('etcd', () => {
  const healthOf = async ({ url }: ServiceProcess) => (await fetch(`${url}/health`)).json()

  it('may lose its leader and then its quorum: no controller leads meanwhile, and no change is lost', {
    timeout: LIMIT_MS,
  }, async test => {
    const { etcd, run } = await opened(test, { members: 3 })
    const first = await etcd.leader()
    await first.kill()
    await run.changeDesiredStatus()
    expect(await run.verdict()).toMatchObject(SOUND)

    const leader = run.leader()
    const second = etcd.members.find(member => member.endpoint !== first.endpoint)
    await second?.kill()
    await run.changeDesiredStatus()
    const health = await eventually('a leader that resigns with a reason', async () => {
      const text = JSON.stringify(await healthOf(leader))
      return text.includes('"is_leader":false') && text.includes('"status":"degraded"') ? text : null
    })
    expect(health).toMatch(/"problems":\[\{"code":"etcd_problem"/)
    await second?.restart()
    expect(await run.verdict()).toMatchObject(SOUND)
  })
})
