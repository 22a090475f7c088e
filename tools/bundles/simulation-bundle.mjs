// The simulation as one file, which runs much faster than its sources: nothing is translated at run time.
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { cache, root } from '../setup.mjs'
import { isOutsideTests, RESOLVE } from './external-packages.mjs'

/** Most garbage is short-lived: a large nursery saves most of the collector's work. */
const FLAGS = ['--max-semi-space-size=64', '--enable-source-maps']

/** Builds the bundle and returns the arguments for Node.js that run it. */
export async function simulationCommand(...args) {
  const dir = join(cache, 'simulation')
  const bundle = await rolldown({
    cwd: root,
    input: 'simulation/virtual/main.ts',
    platform: 'node',
    external: isOutsideTests,
    resolve: RESOLVE,
  })
  await bundle.write({ dir, format: 'esm', entryFileNames: 'main.mjs', chunkFileNames: '[name].mjs', sourcemap: true })
  await bundle.close()
  return [...FLAGS, join(dir, 'main.mjs'), ...args]
}
