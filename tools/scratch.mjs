// Before all suites: one folder for whatever tests leave lying, and it goes when they are done.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-tests-'))
  // The processes that run the tests, and those that the tests start, inherit it.
  process.env.TMPDIR = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
