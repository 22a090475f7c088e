import { createHash } from 'node:crypto'
import { type Filter, filterTest, type Page, type PageRequest, pageOf } from './filters-and-paging.ts'
import { Ec2Refusal } from './refusal.ts'
import { ACCOUNT_ID, REGIONS, regionNamed } from './regions-and-instance-types.ts'

export interface SimImage {
  readonly image_id: string
  readonly name: string
  readonly owner_id: string
  readonly state: 'available' | 'pending'
  readonly created_at: string
  readonly root_device: string
  /** CML version of the image. */
  readonly cml_version: string
}

type CatalogEntry = Omit<SimImage, 'image_id' | 'root_device'>

const ROOT_DEVICE = '/dev/sda1'

const FOREIGN_OWNER = '999988887777'
const OURS = { owner_id: ACCOUNT_ID, state: 'available' } as const

/** Includes traps: a newer image of another account under our name, and a newer image that isn't available yet. */
const CATALOG: readonly CatalogEntry[] = [
  { ...OURS, name: 'cml-2.8.1-20250115', created_at: '2025-01-15T09:00:00.000Z', cml_version: '2.8.1+build.14' },
  { ...OURS, name: 'cml-2.9.1-20250901', created_at: '2025-09-01T09:00:00.000Z', cml_version: '2.9.1+build.7' },
  { ...OURS, name: 'cml-2.9.1-20251104', created_at: '2025-11-04T09:00:00.000Z', cml_version: '2.9.1+build.7' },
  {
    name: 'cml-2.9.1-20251104',
    owner_id: FOREIGN_OWNER,
    state: 'available',
    created_at: '2026-03-01T09:00:00.000Z',
    cml_version: '2.9.1+build.7',
  },
  {
    name: 'cml-2.9.1-20260901',
    owner_id: ACCOUNT_ID,
    state: 'pending',
    created_at: '2026-09-01T09:00:00.000Z',
    cml_version: '2.9.1+build.7',
  },
]

/** Ids depend only on region and name, so that users and tests can hard-code them. */
const imageId = (parts: readonly string[]) =>
  `ami-0${createHash('sha256').update(parts.join('/')).digest('hex').slice(0, 16)}`

const IMAGES: Readonly<Record<string, readonly SimImage[]>> = Object.fromEntries(
  REGIONS.map(({ name: region }) => [
    region,
    CATALOG.map(entry => ({
      ...entry,
      root_device: ROOT_DEVICE,
      image_id: imageId([region, entry.name, entry.owner_id]),
    })),
  ]),
)

const imagesIn = (region: string): readonly SimImage[] => IMAGES[regionNamed(region).name] ?? []

export function imageToLaunch(region: string, wantedId: string): SimImage {
  const image = imageNamed(region, wantedId)
  if (image.state === 'available') return image
  throw new Ec2Refusal('InvalidAMIID.Unavailable', `The image id '[${wantedId}]' is no longer available`)
}

export function imageNamed(region: string, wantedId: string): SimImage {
  if (!wantedId.startsWith('ami-')) throw new Ec2Refusal('InvalidAMIID.Malformed', `Invalid id: "${wantedId}"`)
  const image = imagesIn(region).find(candidate => candidate.image_id === wantedId)
  if (image) return image
  throw new Ec2Refusal('InvalidAMIID.NotFound', `The image id '[${wantedId}]' does not exist`)
}

export interface ImagesQuery extends PageRequest {
  readonly image_ids: readonly string[]
  readonly owners: readonly string[]
  readonly filters: readonly Filter[]
}

export function describeImages(region: string, query: ImagesQuery): Page<SimImage> {
  const owners = query.owners.map(owner => (owner === 'self' ? ACCOUNT_ID : owner))
  const test = filterTest(query.filters)
  const candidates = query.image_ids.length > 0 ? query.image_ids.map(id => imageNamed(region, id)) : imagesIn(region)
  const found = candidates.filter(
    image => (owners.length === 0 || owners.includes(image.owner_id)) && test(name => valuesOf(image, name)),
  )
  return pageOf(found, image => found.indexOf(image), query)
}

function valuesOf(image: SimImage, filterName: string): readonly string[] | null {
  switch (filterName) {
    case 'name':
      return [image.name]
    case 'state':
      return [image.state]
    case 'image-id':
      return [image.image_id]
    case 'owner-id':
      return [image.owner_id]
    case 'architecture':
      return ['x86_64']
    case 'virtualization-type':
      return ['hvm']
    case 'root-device-type':
      return ['ebs']
    case 'image-type':
      return ['machine']
    default:
      return null
  }
}
