#!/usr/bin/env node
import { existsSync } from 'node:fs'

const bundle = new URL('../../../dist/lcm.mjs', import.meta.url)
if (existsSync(bundle)) await import(bundle.href)
else {
  process.stderr.write('error: lcm is not built yet: run `npm run build`, or `npm start`\n')
  process.exitCode = 1
}
