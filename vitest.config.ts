import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{packages,apps,simulation,examples,tools}/**/*.test.{ts,tsx}'],
    isolate: false,
    testTimeout: 30_000,
    reporters: ['default'],
  },
})
