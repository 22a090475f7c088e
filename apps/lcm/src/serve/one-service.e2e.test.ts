import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { z } from 'zod'

const LCM = fileURLToPath(new URL('../../../../dist/lcm.mjs', import.meta.url))
const SourceMap = z.object({ sources: z.array(z.string()) })
const API_PACKAGES = /node_modules\/(fastify|jose)\//

/** Packages of the API whose code the service loads before it refuses its empty environment. */
function loadedBy(service: string): string[] {
  const options = { env: { NODE_DEBUG: 'esm' }, encoding: 'utf8' } as const
  const { stderr } = spawnSync(process.execPath, [LCM, 'serve', service], options)
  const chunks = new Set(stderr.match(/file:\/\/[^'"\s]*\/dist\/[\w.-]+\.mjs/g))
  // The chunk of the bundler's own code has no map.
  const maps = [...chunks].map(chunk => new URL(`${chunk}.map`)).filter(existsSync)
  const sources = maps.flatMap(map => SourceMap.parse(JSON.parse(readFileSync(map, 'utf8'))).sources)
  expect(maps.length).toBeGreaterThan(3)
  return [...new Set(sources.flatMap(source => API_PACKAGES.exec(source)?.[1] ?? []))]
}

it.each(['resource-scheduler', 'lablet-controller', 'worker-controller'])('%s loads no code of the API', service => {
  expect(loadedBy(service)).toEqual([])
})

it('control-plane-api loads it', () => {
  expect(loadedBy('control-plane-api').sort()).toEqual(['fastify', 'jose'])
})
