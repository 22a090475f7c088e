import type { DescribeImagesCommandInput, Image as Ec2Image } from '@aws-sdk/client-ec2'
import { type Image, type ImageQuery, LISTED_PER_CALL } from '@lcm/cloud/compute'
import type { Ec2Call } from './clients.ts'
import { allPages } from './pages.ts'

/** Without the owner anybody's public image of that name could win. */
export async function newestImage(ec2: Ec2Call, wanted: ImageQuery): Promise<Image | null> {
  const pages = imagesOf(ec2, {
    Owners: [wanted.owner],
    IncludeDeprecated: false,
    Filters: [
      { Name: 'name', Values: [wanted.name_pattern] },
      { Name: 'state', Values: ['available'] },
    ],
  })
  let newest: Image | null = null
  for await (const raw of pages) {
    const image = toImage(raw)
    if (image && (!newest || isNewer(image, newest))) newest = image
  }
  return newest
}

function toImage(raw: Ec2Image): Image | null {
  const { ImageId, Name, CreationDate, State, RootDeviceName } = raw
  if (!ImageId || !CreationDate || !RootDeviceName || State !== 'available') return null
  return { image_id: ImageId, name: Name ?? '', created_at: CreationDate, root_device: RootDeviceName }
}

const isNewer = (a: Image, b: Image) =>
  a.created_at === b.created_at ? a.image_id > b.image_id : a.created_at > b.created_at

export async function imageIds(ec2: Ec2Call, namePattern: string): Promise<readonly string[]> {
  const ids = new Set<string>()
  const named = { IncludeDeprecated: true, Filters: [{ Name: 'name', Values: [namePattern] }] }
  for await (const { ImageId } of imagesOf(ec2, named)) if (ImageId) ids.add(ImageId)
  return [...ids]
}

const imagesOf = (ec2: Ec2Call, input: DescribeImagesCommandInput) =>
  allPages('DescribeImages', async NextToken => {
    const page = { ...input, MaxResults: LISTED_PER_CALL, ...(NextToken ? { NextToken } : {}) }
    const answer = await ec2.client.send(new ec2.sdk.DescribeImagesCommand(page), { abortSignal: ec2.signal })
    return { items: answer.Images, next: answer.NextToken }
  })
