import { reason } from '@lcm/domain/reason'
import { manualClock } from '@lcm/testkit/manual-clock'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { expect, it } from 'vitest'
import { outages } from './dependency-outages.ts'

const EC2 = 'EC2 in us-east-1'

function anOutage() {
  const clock = manualClock()
  const logger = recordingLogger()
  return { clock, logger, began: clock.now(), tracker: outages({ clock, logger }) }
}

it('an outage is a problem once it has lasted 30 s, with the message of the last error', async () => {
  const { clock, began, tracker } = anOutage()
  tracker.failed(EC2, new Error('RequestId 1'))
  await clock.advance(29_999)
  tracker.failed(EC2, new Error('RequestId 2'))
  expect([tracker.since(EC2), tracker.problemSince(EC2), tracker.problems()]).toEqual([began, null, []])
  await clock.advance(1)
  expect(tracker.problemSince(EC2)).toBe(began)
  const since = new Date(began).toISOString()
  expect(tracker.problems()).toEqual([reason('dependency_outage', { dependency: EC2, since, error: 'RequestId 2' })])
})

it('one failed call is no problem, however long ago it was', async () => {
  const { clock, tracker } = anOutage()
  tracker.failed(EC2, new Error('once'))
  await clock.advance(3_600_000)
  expect(tracker.problems()).toEqual([])
})

it('an answer ends the outage, and the next one begins later', async () => {
  const { clock, began, tracker } = anOutage()
  tracker.failed(EC2, new Error('first'))
  await clock.advance(40_000)
  tracker.failed(EC2, new Error('still'))
  tracker.answered(EC2)
  expect([tracker.since(EC2), tracker.problems()]).toEqual([null, []])
  tracker.failed(EC2, new Error('again'))
  expect([tracker.since(EC2), tracker.problems()]).toEqual([began + 40_000, []])
})

it('an outage is one line in the log when it is a problem and one when it ends', async () => {
  const { clock, logger, tracker } = anOutage()
  for (let second = 0; second < 600; second += 1) {
    tracker.failed(EC2, new Error(`RequestId ${second}`))
    await clock.advance(1_000)
  }
  tracker.answered(EC2)
  tracker.answered(EC2)
  expect(logger.lines.map(({ level, message }) => [level, message])).toEqual([
    ['warn', `${EC2} does not answer`],
    ['info', `${EC2} answers again`],
  ])
  expect(logger.lines[1]?.fields).toMatchObject({ seconds: 600 })
})

it('a failure that ends before it is a problem is not logged', () => {
  const { logger, tracker } = anOutage()
  tracker.failed(EC2, new Error('a blip'))
  tracker.failed(EC2, new Error('a blip'))
  tracker.answered(EC2)
  expect(logger.lines).toEqual([])
})
