import { TAG } from '@lcm/domain/worker/ec2-instance'
import { expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aStory, type Story } from './story-fixture.ts'

const nameOf = ({ world }: Story, machine: string) => world.cloud.machine(machine)?.tags[TAG.name]
const sentIn = ({ world }: Story) => world.mutations.filter(({ act }) => act === 'tag').length
const REFUSED = { code: 'UnauthorizedOperation', status: 403, message: 'You are not authorized' }
const SOON_MS = 2 * MINUTE_MS

it('a rename changes the tag Name of the machine once, and nothing else', async () => {
  const story = await aStory(411)
  const { world, operator, manual, done } = story
  const { id } = await operator.createAndRun('metal-1')
  const machine = await manual.machineOf(id)
  const { tags } = world.cloud.machine(machine) ?? {}
  expect(tags).toMatchObject({ [TAG.name]: 'metal-1' })
  await operator.rename(id, 'ada')
  await world.untilTrue('its new name', () => nameOf(story, machine) === 'ada', SOON_MS)
  await world.runFor(HOUR_MS)
  expect(world.cloud.machine(machine)?.tags).toEqual({ ...tags, [TAG.name]: 'ada' })
  expect(sentIn(story)).toBe(1)
  await done()
})

it('a stopped machine is renamed too', async () => {
  const story = await aStory(412)
  const { world, operator, manual, done } = story
  const { id } = await operator.createAndRun('metal-1')
  await operator.stop(id)
  await world.until(id, 'STOPPED')
  await operator.rename(id, 'ada')
  const machine = await manual.machineOf(id)
  await world.untilTrue('its new name', () => nameOf(story, machine) === 'ada', SOON_MS)
  expect(manual.stateOf(machine)).toBe('stopped')
  await done()
})

it('a refused tag is retried a few times an hour and blocks nothing', async () => {
  const story = await aStory(413)
  const { world, operator, manual, done } = story
  const { id } = await operator.createAndRun('metal-1')
  const machine = await manual.machineOf(id)
  world.cloud.faults.script({ action: 'CreateTags', times: 1_000, fault: REFUSED })
  await operator.rename(id, 'ada')
  await world.runFor(HOUR_MS)
  expect(nameOf(story, machine)).toBe('metal-1')
  expect(sentIn(story)).toBeLessThanOrEqual(7)
  const decisions = (await operator.decisions(id)).filter(({ action }) => action === 'tag')
  expect(decisions.length).toBeLessThanOrEqual(7)
  expect(decisions[0]?.outcome).toContain('UnauthorizedOperation')
  await operator.stop(id)
  await world.until(id, 'STOPPED', 5 * MINUTE_MS)
  world.cloud.faults.reset()
  await world.untilTrue('its new name', () => nameOf(story, machine) === 'ada', HOUR_MS)
  await done()
})

it('a manually changed Name tag is set back; an imported machine keeps its own', async () => {
  const story = await aStory(414)
  const { world, operator, manual, done } = story
  const found = manual.plant({ [TAG.discovery]: 'true', [TAG.name]: 'theirs' })
  const { id } = await operator.createAndRun('metal-1')
  const machine = await manual.machineOf(id)
  manual.tag(machine, { [TAG.name]: 'mine' })
  await world.untilTrue('its own name', () => nameOf(story, machine) === 'metal-1', SOON_MS)
  const isImported = () => world.workers().find(each => each.ec2_instance_id === found)
  await world.untilTrue('an import', () => isImported() !== undefined, HOUR_MS)
  await operator.rename(isImported()?.id ?? '', 'ours')
  await world.runFor(HOUR_MS)
  expect([nameOf(story, found), nameOf(story, machine)]).toEqual(['theirs', 'metal-1'])
  await done()
})
