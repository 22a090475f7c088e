import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import type { TestSequencer, TestSpecification } from 'vitest/node'

/** Whole systems and other processes: whoever began with them last would have one core wait for the other. */
const LONG = [/six-hours|failover/, /\.(e2e|etcd)\.test|\/simulation\//]

class LongOnesFirst implements TestSequencer {
  shard = async (files: TestSpecification[]) => files
  sort = async (files: TestSpecification[]) => files.toSorted((a, b) => rank(a) - rank(b))
}
function rank({ moduleId }: TestSpecification): number {
  const found = LONG.findIndex(names => names.test(moduleId))
  return found < 0 ? LONG.length : found
}

export default defineConfig({
  test: {
    include: ['{packages,apps,simulation,examples,tools,bench}/**/*.test.{ts,tsx}'],
    exclude: ['**/node_modules/**', '**/*.browser.test.ts'],
    globalSetup: ['tools/scratch.mjs'],
    isolate: false,
    sequence: { sequencer: LongOnesFirst },
    // Much of it waits for other processes: no core is left to itself.
    maxWorkers: availableParallelism() + 1,
    // On a busy machine all comes late, and nothing here is judged by how long it takes.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
    reporters: ['default'],
  },
})
