import { healthOfAction } from '@lcm/domain/health'
import { expect, it } from 'vitest'
import { MINUTE_MS } from '../world/durations.ts'
import type { World } from '../world/world.ts'
import { aStory } from './story-fixture.ts'

const WORKERS = 100
const MINUTES = 10
const CONDITION = 'Ec2Unreachable'

/** Decisions beside the notes that the health of a worker changed. */
async function decisionsOf({ store }: World): Promise<number> {
  const entries = await store.journal.query({ streams: ['decision'], limit: 100_000 })
  return entries.filter(({ body }) => !('action' in body) || healthOfAction(String(body.action)) === null).length
}
const ec2Calls = ({ calls }: World): number => calls.names.filter(name => name.startsWith('ec2.')).length
const unreachable = (world: World): number =>
  world.workers().filter(({ conditions }) => conditions.some(({ type }) => type === CONDITION)).length

/** Costs of an outage. */
async function anOutage(seed: number) {
  const lines: string[] = []
  const log = (level: string, message: string) => void (level === 'debug' || lines.push(`${level} ${message}`))
  const { world, operator, done } = await aStory(seed, { speed: 60, onLog: log })
  for (let n = 0; n < WORKERS; n += 1) await operator.create(`metal-${n}`)
  await world.untilTrue('all run', () => world.workers().every(({ status }) => status === 'RUNNING'), 120 * MINUTE_MS)
  await world.runFor(10 * MINUTE_MS)
  const before = { decisions: await decisionsOf(world), lines: lines.length }
  // EC2 words the failure in one of two ways, call by call.
  world.cloud.faults.patch({ server_error_rate: 1, lost_request_rate: 0.5 })
  const callsPerMinute: number[] = []
  const reportedByMinute: number[] = []
  for (let minute = 0; minute < MINUTES; minute += 1) {
    const made = ec2Calls(world)
    await world.runFor(MINUTE_MS)
    callsPerMinute.push(ec2Calls(world) - made)
    reportedByMinute.push(unreachable(world))
  }
  const during = { decisions: await decisionsOf(world), lines: lines.length }
  world.cloud.faults.patch({ server_error_rate: 0, lost_request_rate: 0 })
  const endedMs = world.time.clock.now()
  await world.untilTrue('every worker is seen again', () => unreachable(world) === 0, 5 * MINUTE_MS)
  const noticedMs = world.time.clock.now() - endedMs
  await world.runFor(5 * MINUTE_MS)
  const after = { decisions: await decisionsOf(world) }
  const outageLines = lines.slice(before.lines, during.lines)
  return {
    figures: {
      callsPerMinute,
      reportedByMinute,
      decisionsDuring: during.decisions - before.decisions,
      decisionsAfter: after.decisions - during.decisions,
      warnings: outageLines.filter(line => line.startsWith('warn')).length,
      otherLines: outageLines.filter(line => !line.startsWith('warn')).length,
      noticedMs,
    },
    outageLines,
    linesAfter: lines.slice(during.lines),
    done,
  }
}

it('EC2 down for 10 min with 100 workers: few calls, one condition and one decision each, few log lines', async () => {
  const { figures, outageLines, linesAfter, done } = await anOutage(701)
  expect(figures.reportedByMinute, 'conditions, 30 s after the first failure').toEqual(Array(MINUTES).fill(WORKERS))
  expect(figures.callsPerMinute[0], 'backoff, beginning at 1 s').toBeLessThanOrEqual(10)
  expect(Math.max(...figures.callsPerMinute.slice(1)), 'one probe each 30 s').toBe(2)
  expect([figures.decisionsDuring, figures.decisionsAfter]).toEqual([WORKERS, WORKERS])
  expect(outageLines.filter(line => line === 'warn EC2 in us-east-1 does not answer')).toHaveLength(1)
  // CloudWatch fails too, and discovery cannot list everything: those are logged by their own loops.
  expect(figures.warnings + figures.otherLines).toBeLessThanOrEqual(12)
  // A visit to each worker is due after the outage, as it is every five minutes.
  expect(linesAfter.filter(line => line !== 'info reconciled').toSorted()).toEqual([
    'info CloudWatch answers again',
    'info EC2 in us-east-1 answers again',
  ])
  expect(figures.noticedMs, 'one poll interval').toBeLessThanOrEqual(30_000)
  await done()
})
