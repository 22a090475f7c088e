import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{packages,apps,simulation,examples,tools,bench}/**/*.test.{ts,tsx}'],
    exclude: ['**/node_modules/**', '**/*.browser.test.ts'],
    isolate: false,
    // Much of it waits for other processes: no core is left to itself.
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // On a busy machine others answer late.
    expect: { poll: { timeout: 20_000 } },
    env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
    reporters: ['default'],
  },
})
