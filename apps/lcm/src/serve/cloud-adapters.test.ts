import { createServer } from 'node:http'
import { memorySimStore, SimStoreError } from '@lcm/cloud-sim/sim-store'
import { systemClock } from '@lcm/runtime/clock'
import { expect, it, onTestFinished } from 'vitest'
import { openWorld } from './cloud-adapters.ts'
import { upEnvironment } from './environment/environment.ts'
import { s3ObjectsOf } from './s3-objects.ts'
import { StartupError } from './startup-error.ts'

it('reports that the disk is too full to store the simulated cloud', () => {
  const full = {
    ...memorySimStore(),
    commit() {
      throw new SimStoreError("sim.sqlite can't be written: the disk is full")
    },
  }
  const open = () => openWorld({ clock: systemClock, seed: 1, speed: 60, preset: null, fleet: 1 }, full)
  expect(open).toThrow(StartupError)
  expect(open).toThrow(/disk is full/)
})

/** A fake S3 server that records its requests. */
async function aStandIn() {
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(request.url ?? '')
    response.end('all')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return { paths, url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` }
}

it.each([
  ['AWS_ENDPOINT_URL', {}],
  ['AWS_ENDPOINT_URL_S3', { AWS_ENDPOINT_URL: 'http://127.0.0.1:1' }],
])('sends S3 calls to the endpoint of %s, so that a rehearsal never contacts AWS', async (name, others) => {
  const { paths, url } = await aStandIn()
  const credentials = { accessKeyId: 'simulated', secretAccessKey: 'simulated' }
  const objects = s3ObjectsOf(upEnvironment({ ...others, [name]: url }), { clock: systemClock, credentials })
  await objects.read({ bucket: 'labs', key: 'ospf.yaml' }, 100, new AbortController().signal)
  expect(paths).toEqual(['/labs/ospf.yaml'])
})
