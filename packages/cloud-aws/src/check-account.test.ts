import { plantMachines } from '@lcm/cloud-sim/conformance/compute-and-metrics-fixtures'
import { startSimServer } from '@lcm/cloud-sim/server/server'
import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { systemClock } from '@lcm/runtime/clock'
import { afterEach, expect, it } from 'vitest'
import { type AccountCheckOptions, checkAccount } from './check-account.ts'
import { IAM_ACTIONS } from './iam-actions.ts'

const SILENT = { info: () => undefined, warn: () => undefined }
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function simulated({ machines = 1 } = {}) {
  const model = openSimModel({ seed: 7, clock: systemClock, speed: 1000 })
  if (machines > 0) plantMachines(model, machines, { 'lcm:fleet': 'ours' })
  const server = await startSimServer({ model, clock: systemClock, log: SILENT, cml: 'off' })
  closing.push(async () => {
    await server.close()
    model.close()
  })
  const refuse = (action: string, code: string, message = 'You are not authorized to perform this operation.') =>
    model.faults.script({ action, times: 100, fault: { code, status: 403, message } })
  return { refuse, url: server.url }
}

const examined = (endpoint: string, more: Partial<AccountCheckOptions> = {}) =>
  checkAccount({
    clock: systemClock,
    endpoint,
    credentials: { accessKeyId: 'AKIDSIMULATED', secretAccessKey: 'none' },
    regions: [{ region: 'us-east-1', subnet_id: 'subnet-use1a', security_group_ids: ['sg-use1cml'], key_name: null }],
    launch: null,
    fleet: null,
    deadlineMs: 5000,
    fetch: globalThis.fetch,
    signal: new AbortController().signal,
    ...more,
  })

const denied = ({ actions }: Awaited<ReturnType<typeof examined>>) =>
  actions.flatMap(({ action, verdict }) => (verdict === 'granted' ? [] : [`${action} ${verdict}`]))

it('tests every permission that all fleets need, and changes nothing', async () => {
  const { url } = await simulated()
  const facts = await examined(url)
  expect(denied(facts)).toEqual([])
  const needed = IAM_ACTIONS.filter(({ onlyWhere }) => onlyWhere === null).map(({ action }) => action)
  expect(facts.actions.map(({ action }) => action).sort()).toEqual([...needed].sort())
  expect(facts.credentialsError).toBeNull()
  expect(Math.abs((facts.caller?.atMs ?? 0) - systemClock.now())).toBeLessThan(5000)
})

it.each([
  ['DescribeInstances', 'ec2:DescribeInstances'],
  ['DescribeImages', 'ec2:DescribeImages'],
  ['StartInstances', 'ec2:StartInstances'],
  ['StopInstances', 'ec2:StopInstances'],
  ['TerminateInstances', 'ec2:TerminateInstances'],
])('names %s when it is denied', async (call, action) => {
  const { refuse, url } = await simulated()
  refuse(call, 'UnauthorizedOperation')
  expect(denied(await examined(url))).toEqual([`${action} denied`])
})

it('names the permission to read metrics when it is denied', async () => {
  const { refuse, url } = await simulated()
  refuse('GetMetricData', 'AccessDenied')
  expect(denied(await examined(url))).toEqual(['cloudwatch:GetMetricData denied'])
})

it('distinguishes a denied launch from denied tags or roles', async () => {
  const { refuse, url } = await simulated()
  refuse('RunInstances', 'UnauthorizedOperation')
  expect(denied(await examined(url))).toEqual(['ec2:RunInstances denied', 'ec2:CreateTags inconclusive'])
  const other = await simulated()
  other.refuse('RunInstances', 'UnauthorizedOperation', 'User x is not authorized to perform: ec2:CreateTags on y')
  expect(denied(await examined(other.url))).toEqual(['ec2:CreateTags denied'])
  const third = await simulated()
  third.refuse('RunInstances', 'UnauthorizedOperation', 'User x is not authorized to perform: iam:PassRole on y')
  expect(denied(await examined(third.url))).toEqual(['iam:PassRole denied', 'ec2:CreateTags inconclusive'])
})

it('names tags when only renaming is denied', async () => {
  const { refuse, url } = await simulated()
  refuse('CreateTags', 'UnauthorizedOperation')
  expect(denied(await examined(url))).toEqual(['ec2:CreateTags denied'])
  const none = await simulated({ machines: 0 })
  none.refuse('CreateTags', 'UnauthorizedOperation')
  expect(denied(await examined(none.url))).toEqual([])
})

it('distinguishes rejected credentials from missing permissions', async () => {
  const { refuse, url } = await simulated()
  refuse('DescribeInstances', 'AuthFailure')
  expect(denied(await examined(url))).toEqual(['ec2:DescribeInstances rejected'])
})

it('concludes nothing about permissions when AWS does not respond', async () => {
  const facts = await examined('http://127.0.0.1:9', { deadlineMs: 2000 })
  expect(new Set(facts.actions.map(({ verdict }) => verdict))).toEqual(new Set(['inconclusive']))
  expect(facts.callerError).not.toBeNull()
})

it('does not report a permission as missing that could only be tested on a nonexistent machine', async () => {
  const none = await simulated({ machines: 0 })
  none.refuse('StopInstances', 'UnauthorizedOperation')
  expect(denied(await examined(none.url))).toEqual(['ec2:StopInstances inconclusive'])
  const others = await simulated()
  others.refuse('StopInstances', 'UnauthorizedOperation')
  expect(denied(await examined(others.url, { fleet: 'other' }))).toEqual(['ec2:StopInstances inconclusive'])
  expect(denied(await examined(others.url, { fleet: 'ours' }))).toEqual(['ec2:StopInstances denied'])
})
