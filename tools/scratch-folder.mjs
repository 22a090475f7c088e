// Global setup of all suites: one temporary folder, removed at the end.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-tests-'))
  // Test workers and the processes they start inherit it.
  process.env.TMPDIR = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
