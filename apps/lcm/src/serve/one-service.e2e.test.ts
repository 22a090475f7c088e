import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const LCM = fileURLToPath(new URL('../../../../dist/lcm.mjs', import.meta.url))
const API_PACKAGES = /node_modules\/(fastify|@photostructure\/sqlite|jose)\//g

/** Packages of the API that the service loads before it refuses its empty environment. */
function loadedBy(service: string): string[] {
  const options = { env: { NODE_DEBUG: 'esm' }, encoding: 'utf8' } as const
  const { stderr } = spawnSync(process.execPath, [LCM, 'serve', service], options)
  return [...new Set(stderr.match(API_PACKAGES))]
}

it.each(['resource-scheduler', 'lablet-controller', 'worker-controller'])('%s loads no code of the API', service => {
  expect(loadedBy(service)).toEqual([])
})

it('control-plane-api loads it', () => {
  expect(loadedBy('control-plane-api').length).toBeGreaterThan(0)
})
