// The simulation as one file, which runs a good deal faster than from its sources: there is nothing to translate at run time.
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { isInstalled } from './installed.mjs'
import { cache, root } from './setup.mjs'

/** What a virtual second leaves behind is garbage at once: a large nursery spares most of the collector's work. */
const FLAGS = ['--max-semi-space-size=64', '--enable-source-maps']

/** Answers the arguments for Node.js that run it. */
export async function simulationCommand(...args) {
  const dir = join(cache, 'simulation')
  const bundle = await rolldown({
    cwd: root,
    input: 'simulation/virtual/main.ts',
    platform: 'node',
    external: isInstalled,
  })
  await bundle.write({ dir, format: 'esm', entryFileNames: 'main.mjs', chunkFileNames: '[name].mjs', sourcemap: true })
  await bundle.close()
  return [...FLAGS, join(dir, 'main.mjs'), ...args]
}
