import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import type { Compute, Image, LaunchRequest } from '../compute.ts'
import { CloudError } from '../errors.ts'
import { IMAGE_TTL_MS, imageCache, NO_IMAGE_TTL_MS } from './image-cache.ts'

const REGION = 'us-east-1'
const WANTED = { name_pattern: 'cml-*', owner: 'self' }
const never = new AbortController().signal
const anImage = (image_id: string): Image => ({ image_id, name: 'cml-1', created_at: '', root_device: '/dev/sda1' })
const aLaunch = (image_id: string): LaunchRequest => ({
  client_token: 't',
  user_data: null,
  parameters: {
    image_id,
    instance_type: 't',
    subnet_id: 's',
    associate_public_ip: null,
    security_group_ids: [],
    key_name: null,
    root_device: '/dev/sda1',
    root_volume_gb: 1,
    volume_encrypted: true,
    iam_instance_profile: null,
    nested_virtualization: false,
    user_data_ref: null,
    tags: {},
  },
})

const canceled = new CloudError('transient', { code: 'AbortError', action: 'DescribeImages', message: '' })

/** A cloud that returns `says()` and counts image requests. */
function open(says: () => Image | null | CloudError = () => anImage('ami-1'), refusal = 'InvalidAMIID.NotFound') {
  const clock = manualClock()
  const asked: string[] = []
  const none = () => Promise.reject(new Error('not asked for here'))
  const compute: Compute = {
    list: none,
    describe: none,
    imageIds: none,
    power: none,
    tag: none,
    async newestImage(region, { name_pattern, owner }, signal) {
      asked.push(`${region} ${owner} ${name_pattern}`)
      await clock.sleep(100, signal)
      const answer = signal.aborted ? canceled : says()
      if (answer instanceof CloudError) throw answer
      return answer
    },
    launch: () => Promise.reject(new CloudError('invalid', { code: refusal, action: 'RunInstances', message: 'no' })),
  }
  const images = imageCache(compute, clock)
  async function answered(signal = never, wanted = WANTED, region = REGION) {
    const answer = images.newestImage(region, wanted, signal).catch((error: Error) => error)
    await clock.advance(100)
    return answer
  }
  return { clock, asked, images, answered }
}

it('sends one request for 100 launches of one template, and another after the TTL', async () => {
  const { clock, asked, images, answered } = open()
  const hundred = Promise.all(Array.from({ length: 100 }, () => images.newestImage(REGION, WANTED, never)))
  await clock.advance(100)
  expect(new Set((await hundred).map(image => image?.image_id))).toEqual(new Set(['ami-1']))
  for (let n = 0; n < 100; n += 1) await answered()
  expect(asked).toEqual(['us-east-1 self cml-*'])
  await clock.advance(IMAGE_TTL_MS)
  await answered()
  expect(asked).toHaveLength(2)
})

it('keeps regions, owners and patterns apart', async () => {
  const { asked, answered } = open()
  await answered()
  await answered(never, { ...WANTED, owner: '123' })
  await answered(never, { ...WANTED, name_pattern: 'cml-2*' })
  await answered(never, WANTED, 'eu-west-1')
  expect(asked).toEqual([
    'us-east-1 self cml-*',
    'us-east-1 123 cml-*',
    'us-east-1 self cml-2*',
    'eu-west-1 self cml-*',
  ])
})

it('caches no error, and a missing image only until the next reconciliation', async () => {
  let answer: Image | null | CloudError = new CloudError('transient', {
    code: 'x',
    action: 'DescribeImages',
    message: '',
  })
  const { clock, asked, answered } = open(() => answer)
  expect(await answered()).toBe(answer)
  answer = null
  expect(await answered()).toBeNull()
  answer = anImage('ami-2')
  expect(await answered()).toBeNull()
  await clock.advance(NO_IMAGE_TTL_MS)
  expect(await answered()).toEqual(answer)
  expect(asked).toHaveLength(3)
})

it('queries again after a launch was rejected because its image is gone', async () => {
  let id = 'ami-1'
  const { asked, images, answered } = open(() => anImage(id))
  await answered()
  id = 'ami-2'
  await expect(images.launch(REGION, aLaunch('ami-other'), never)).rejects.toMatchObject({ errorClass: 'invalid' })
  expect(await answered()).toMatchObject({ image_id: 'ami-1' })
  await expect(images.launch(REGION, aLaunch('ami-1'), never)).rejects.toMatchObject({ errorClass: 'invalid' })
  expect(await answered()).toMatchObject({ image_id: 'ami-2' })
  expect(asked).toHaveLength(2)
})

it('keeps the image after a launch that was rejected for another reason', async () => {
  const { asked, images, answered } = open(undefined, 'InsufficientInstanceCapacity')
  await answered()
  await images.launch(REGION, aLaunch('ami-1'), never).catch(() => undefined)
  await answered()
  expect(asked).toHaveLength(1)
})

it('continues for the others when one caller aborts', async () => {
  const { clock, asked, images } = open()
  const leaving = new AbortController()
  const left = images.newestImage(REGION, WANTED, leaving.signal).catch((error: CloudError) => error.code)
  const staying = images.newestImage(REGION, WANTED, never)
  await clock.advance(50)
  leaving.abort()
  expect(await left).toBe('AbortError')
  await clock.advance(150)
  expect(await staying).toMatchObject({ image_id: 'ami-1' })
  expect(asked, 'the call of the one that left was given up').toHaveLength(2)
})
