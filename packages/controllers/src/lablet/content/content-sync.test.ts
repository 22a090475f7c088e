import { beforeEach, expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { aDefinition, type LabWorld, labWorld, MINUTE_MS } from '../testing/lab-world.ts'
import { ContentError } from './content-sources.ts'

let world: LabWorld
let reads: string[]

const definition = () => world.api.definitions.get('ld-1')
const sources = {
  async read(source: string) {
    reads.push(source)
    if (source.endsWith('bad')) throw new ContentError('it answered with status 404')
    return Buffer.from('lab: {}\n')
  },
}
const request = (source: string, at: string | null = null) =>
  world.api.definitions.set('ld-1', {
    ...aDefinition('2026-01-02T03:04:05.000Z', { source }),
    sync: { status: 'requested', error: null, at, package_sha256: null },
  })

beforeEach(async () => {
  world = await labWorld()
  reads = []
})

it('content that somebody asked for is fetched once', async () => {
  request('https://a/good')
  const { controller } = aController(world, 'one', { sources })
  await world.clock.advance(30 * MINUTE_MS)
  expect(reads).toEqual(['https://a/good'])
  expect(definition()).toMatchObject({ topology: 'lab: {}\n', sync: { status: 'success', error: null } })
  expect(definition()?.sync.package_sha256).toHaveLength(64)
  expect(controller.stats()).toMatchObject({ syncs_count: 1 })
})

it('content that was edited while it was fetched is fetched again, from where it is now', async () => {
  request('https://a/old')
  const edited = {
    async read(source: string) {
      if (source === 'https://a/old') request('https://a/new', '2026-01-02T03:05:00.000Z')
      reads.push(source)
      return Buffer.from(`lab: { title: ${source} }\n`)
    },
  }
  aController(world, 'one', { sources: edited })
  await world.clock.advance(30 * MINUTE_MS)
  expect(reads).toEqual(['https://a/old', 'https://a/new'])
  expect(definition()).toMatchObject({ topology: 'lab: { title: https://a/new }\n', sync: { status: 'success' } })
})

it('what stood in the way is told, and not tried again before somebody asks', async () => {
  request('https://a/bad')
  aController(world, 'one', { sources })
  await world.clock.advance(30 * MINUTE_MS)
  expect(reads).toHaveLength(1)
  expect(definition()?.sync).toMatchObject({ status: 'failed', error: 'it answered with status 404' })
})

it('content that nobody asked for is left alone', async () => {
  aController(world, 'one', { sources })
  await world.clock.advance(30 * MINUTE_MS)
  expect(reads).toEqual([])
})
