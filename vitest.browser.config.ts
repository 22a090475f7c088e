import { defineConfig } from 'vitest/config'
import type { TestSequencer, TestSpecification } from 'vitest/node'

/** Presses every button of every page, so it starts first, before other files have filled the pages. */
const FIRST = /roles\.browser/

class FewButtonsFirst implements TestSequencer {
  shard = async (files: TestSpecification[]) => files
  sort = async (files: TestSpecification[]) =>
    files.toSorted((a, b) => Number(FIRST.test(b.moduleId)) - Number(FIRST.test(a.moduleId)))
}

// The console in a real browser, on one running product that all files share.
export default defineConfig({
  test: {
    sequence: { sequencer: FewButtonsFirst },
    include: ['apps/console/e2e/**/*.browser.test.ts'],
    globalSetup: ['tools/scratch-folder.mjs', 'apps/console/e2e/testing/start-product.ts'],
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // A busy machine draws late: what is expected is waited for as long as the locators of a page wait.
    expect: { poll: { timeout: 45_000 } },
    silent: 'passed-only',
    reporters: ['default'],
  },
})
