// `npm run test:interop`: what we did not write must agree. Ends with one line, `N passed, N failed`. With a name, such as
// `npm run test:interop -- schemathesis`, only that judge runs.

import { ensureClientGenerator, judgeGeneratedClients } from './interop/generated-clients.mjs'
import { ensureMongoWire } from './interop/mongo-wire.mjs'
import { ensureMoto } from './interop/moto.mjs'
import { ensureSchemathesis, judgeApi } from './interop/schemathesis.mjs'
import { ensureVirl2Client, judgeLabs } from './interop/virl2-client.mjs'
import { ensureEtcd } from './programs/etcd.mjs'
import { ensureReady } from './setup.mjs'
import { concluded, runSuites } from './suites.mjs'

/** Each is first fetched, then asked. Only the fetching may fail without a failure, and not in CI. */
const JUDGES = [
  {
    name: 'mongo-wire',
    fetch: () => Promise.all([ensureMongoWire(), ensureEtcd()]),
    ask: () => runSuites('mongo-wire', ['--project=interop', '.mongo.test.ts']),
  },
  { name: 'moto', fetch: ensureMoto, ask: () => runSuites('moto', ['--project=interop', '.moto.test.ts']) },
  { name: 'virl2_client', fetch: ensureVirl2Client, ask: judgeLabs },
  { name: 'schemathesis', fetch: ensureSchemathesis, ask: judgeApi },
  { name: 'openapi-generator', fetch: ensureClientGenerator, ask: judgeGeneratedClients },
]

const startedAt = Date.now()
await ensureReady()
const results = []
for (const judge of JUDGES.filter(isSelected)) results.push(await run(judge))
concluded(results, startedAt)

function isSelected({ name }) {
  const names = process.argv.slice(2)
  return names.length === 0 || names.includes(name)
}

async function run({ name, fetch, ask }) {
  let fetched
  try {
    fetched = await fetch()
  } catch (error) {
    const isFailure = process.env.CI === 'true'
    console.log(`${isFailure ? 'FAILED' : 'skipped'}  ${name} did not run: ${error.message}`)
    return { passed: 0, failed: isFailure ? 1 : 0 }
  }
  return ask(fetched)
}
