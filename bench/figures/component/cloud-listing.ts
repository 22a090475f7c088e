/** Figure of 4.3 and 7.1: 10,000 machines listed by the real SDK from the simulator in another process, and how fast that serves. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { awsCompute } from '@lcm/cloud-aws/ec2/compute'
import { systemClock } from '@lcm/runtime/clock'
import { atLeast, atMost, conclude, ROUNDS, shown } from '../../report/figure-report.ts'
import { median, rounded } from '../../report/quantiles.ts'

const MACHINES = 10_000
const PAGE = 200
const BAR = { calls: 60, blockMs: 100, pagesPerMinute: 1_000 } as const
const SERVING_MS = 10_000

interface Served {
  readonly url: string
  readonly region: string
}

const child = fork(fileURLToPath(new URL('../../cloud/sim-server.ts', import.meta.url)), [String(MACHINES)])
const [served] = (await once(child, 'message')) as [Served]

/** Longest block of the event loop during complete listings. */
async function listings() {
  let calls = 0
  const compute = awsCompute({
    clock: systemClock,
    endpoint: served.url,
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
    onCall: () => {
      calls += 1
    },
  })
  const list = async (fleet: string) =>
    (await compute.list(served.region, { tags: { 'lcm:fleet': fleet } }, new AbortController().signal)).length
  // Loading the SDK takes longer than any page, but only once per process.
  await list('none')
  const rounds: { calls: number; ms: number; blockMs: number }[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    globalThis.gc?.()
    calls = 0
    const delays = monitorEventLoopDelay({ resolution: 1 })
    delays.enable()
    const startedMs = systemClock.monotonic()
    const found = await list('bench')
    const ms = systemClock.monotonic() - startedMs
    delays.disable()
    if (found !== MACHINES) throw new Error(`${found} machines were listed, not ${MACHINES}`)
    rounds.push({ calls, ms, blockMs: delays.max / 1e6 })
  }
  compute.close()
  return rounds
}

/** Requests pages as fast as one caller can, without parsing them. */
async function pagesPerMinute(): Promise<number> {
  const startedMs = systemClock.monotonic()
  let pages = 0
  let token = ''
  while (systemClock.monotonic() - startedMs < SERVING_MS) {
    const text = await pageFrom(token)
    token = /<nextToken>([^<]+)/.exec(text)?.[1] ?? ''
    pages += 1
  }
  return (pages / (systemClock.monotonic() - startedMs)) * 60_000
}

async function pageFrom(token: string): Promise<string> {
  const form = {
    Action: 'DescribeInstances',
    Version: '2016-11-15',
    'Filter.1.Name': 'tag:lcm:fleet',
    'Filter.1.Value.1': 'bench',
    MaxResults: String(PAGE),
    ...(token === '' ? {} : { NextToken: token }),
  }
  const authorization = `AWS4-HMAC-SHA256 Credential=bench/20260101/${served.region}/ec2/aws4_request, SignedHeaders=host, Signature=0`
  const response = await fetch(served.url, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams(form),
  })
  if (response.status !== 200) throw new Error(`the simulator answered ${response.status}: ${await response.text()}`)
  return response.text()
}

const rounds = await listings()
const pages = Math.round(await pagesPerMinute())
child.disconnect()
const machines = `${shown(MACHINES)} machines listed by the AWS SDK`
conclude({
  bench: 'cloud-listing',
  figures: [
    atMost(machines, BAR.calls, { value: Math.max(...rounds.map(({ calls }) => calls)), unit: 'calls' }),
    atMost(`${machines}, longest block of the event loop`, BAR.blockMs, {
      value: rounded(Math.max(...rounds.map(({ blockMs }) => blockMs))),
      unit: 'ms',
      more: `a listing takes ${shown(Math.round(median(rounds.map(({ ms }) => ms))))} ms`,
    }),
    atLeast(`pages of ${PAGE} that the simulator serves`, BAR.pagesPerMinute, { value: pages, unit: 'a minute' }),
  ],
})
