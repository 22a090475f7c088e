import { defineConfig } from 'vitest/config'

// The console in a real browser, on one running product that all files share.
export default defineConfig({
  test: {
    include: ['apps/console/e2e/**/*.browser.test.ts'],
    globalSetup: ['tools/scratch.mjs', 'apps/console/e2e/testing/running-product.ts'],
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // A busy machine draws late: what is expected is waited for as long as the locators of a page wait.
    expect: { poll: { timeout: 45_000 } },
    silent: 'passed-only',
    reporters: ['default'],
  },
})
