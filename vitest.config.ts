import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import type { TestSequencer, TestSpecification } from 'vitest/node'
import { LONGEST } from './tools/longest-tests.ts'

const LONG = /\.(e2e|etcd)\.test|\/simulation\//

/** Files of one project follow each other, because a process that changes to another project starts and warms up again. */
class LongestFirst implements TestSequencer {
  shard = async (files: TestSpecification[]) => files
  sort = async (files: TestSpecification[]) =>
    files.toSorted((a, b) => Number(isVirtual(b)) - Number(isVirtual(a)) || rank(a) - rank(b))
}
const isVirtual = ({ project }: TestSpecification) => project.name === 'virtual'
function rank({ moduleId }: TestSpecification): number {
  if (LONGEST.some(part => moduleId.includes(part))) return 0
  return LONG.test(moduleId) ? 1 : 2
}

/** `vitest --mode bundle` runs the tests that tools/bundles/bundle-tests.mjs bundled. */
const TEST = 'test.{ts,tsx,mjs}'
const FOLDERS = '{packages,apps,simulation,examples,tools,bench}'
const VIRTUAL = `simulation/virtual/**/*.${TEST}`
/** Tests of real processes and real time: they mostly wait, and run best beside the others. */
const PROCESSES = `simulation/cluster/**/*.${TEST}`
const SERVERS = `${FOLDERS}/**/*.{e2e,etcd}.${TEST}`
const INTEROP = `${FOLDERS}/**/*.{mongo,moto}.${TEST}`
const NEVER = ['**/node_modules/**', `**/*.browser.${TEST}`]

const shared = (mode: string) => ({
  dir: mode === 'bundle' ? '.cache/tests' : '.',
  server: { deps: { external: [/\.cache\/tests\/chunks\//] } },
  globalSetup: ['tools/scratch-folder.mjs'],
  isolate: false,
  // Virtual seconds leave garbage at once: a large nursery spares the collector most of its work.
  execArgv: ['--max-semi-space-size=64'],
  // Nothing here is judged by how long it takes, and a busy machine is slow.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 20_000 } },
  env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
})

export default defineConfig(({ mode }) => ({
  test: {
    sequence: { sequencer: LongestFirst },
    maxWorkers: availableParallelism() + 1,
    // Logs of the product appear only below a test that failed.
    silent: 'passed-only',
    reporters: ['default'],
    projects: [
      {
        test: {
          ...shared(mode),
          name: 'unit',
          include: [`${FOLDERS}/**/*.${TEST}`],
          exclude: [...NEVER, VIRTUAL, PROCESSES, SERVERS, INTEROP],
        },
      },
      // Virtual time has no wall-clock limits: a run ends by itself, or by a limit of virtual time.
      { test: { ...shared(mode), name: 'virtual', include: [VIRTUAL], testTimeout: 0, hookTimeout: 0 } },
      { test: { ...shared(mode), name: 'processes', include: [PROCESSES], exclude: [...NEVER, SERVERS, INTEROP] } },
      // Needs etcd or the built product. `npm run test:unit` leaves it out.
      { test: { ...shared(mode), name: 'servers', include: [SERVERS], exclude: NEVER } },
      // Only `npm run test:interop` runs it.
      { test: { ...shared(mode), name: 'interop', include: [INTEROP], exclude: NEVER } },
    ],
  },
}))
