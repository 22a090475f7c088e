import { beforeEach, expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { type LabRig, labRig, MINUTE_MS } from '../testing/lab-rig.ts'
import { ContentError } from './content-sources.ts'

let rig: LabRig
let id: string
let reads: string[]

const topology = (title: string) =>
  JSON.stringify({
    lab: { version: '0.3.0', title },
    nodes: [{ id: 'n0', label: 'R1', node_definition: 'alpine', x: 0, y: 0 }],
    links: [],
  })
const definition = () => rig.plane.get('definitions', id)
const sources = {
  async read(source: string) {
    reads.push(source)
    if (source.endsWith('bad')) throw new ContentError('it answered with status 404')
    return Buffer.from(topology('fetched'))
  },
}
/** An author sets the source of the topology. */
const define = async (source: string) => {
  const made = await rig.plane.others().call('createDefinition', { body: { name: 'remote', source } })
  id = made.id
}
const redefine = (source: string) =>
  rig.plane.others().call('putDefinition', { params: { id }, body: { source }, ifMatch: 1 })

beforeEach(async () => {
  rig = await labRig()
  reads = []
})

it('requested content is fetched once', async () => {
  await define('https://a/good')
  const { controller } = aController(rig, 'one', { sources })
  await rig.clock.advance(30 * MINUTE_MS)
  expect(reads).toEqual(['https://a/good'])
  expect(await definition()).toMatchObject({
    status: 'ACTIVE',
    topology: topology('fetched'),
    sync: { status: 'success', error: null },
  })
  expect((await definition()).sync.package_sha256).toHaveLength(64)
  expect(controller.stats()).toMatchObject({ syncs_count: 1 })
})

it('content whose source was edited during the fetch is fetched again from the new source', async () => {
  await define('https://a/old')
  const edited = {
    async read(source: string) {
      if (source === 'https://a/old') await redefine('https://a/new')
      reads.push(source)
      return Buffer.from(topology(source))
    },
  }
  aController(rig, 'one', { sources: edited })
  await rig.clock.advance(30 * MINUTE_MS)
  expect(reads).toEqual(['https://a/old', 'https://a/new'])
  expect(await definition()).toMatchObject({ topology: topology('https://a/new'), sync: { status: 'success' } })
})

it('a failed fetch is reported and not retried before the next request', async () => {
  await define('https://a/bad')
  aController(rig, 'one', { sources })
  await rig.clock.advance(30 * MINUTE_MS)
  expect(reads).toHaveLength(1)
  expect((await definition()).sync).toMatchObject({ status: 'failed', error: 'it answered with status 404' })
})

it('content without a request is not fetched', async () => {
  aController(rig, 'one', { sources })
  await rig.clock.advance(30 * MINUTE_MS)
  expect(reads).toEqual([])
})
