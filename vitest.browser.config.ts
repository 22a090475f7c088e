import { defineConfig } from 'vitest/config'

// The console in a real browser, on one running product that all files share.
export default defineConfig({
  test: {
    include: ['apps/console/e2e/**/*.browser.test.ts'],
    globalSetup: ['apps/console/e2e/testing/running-product.ts'],
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
})
