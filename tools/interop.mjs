// `npm run test:interop`: what we did not write must agree. Ends with one line, `N passed, N failed`. With a name, such as
// `npm run test:interop -- schemathesis`, only that judge runs.

import { ensureClientGenerator, judgeGeneratedClients } from './interop/generated-clients.mjs'
import { ensureMongoWire } from './interop/mongo-server.mjs'
import { ensureMoto } from './interop/moto.mjs'
import { ensurePromtool, judgeAlerts } from './interop/promtool.mjs'
import { ensureSchemathesis, judgeApi } from './interop/schemathesis.mjs'
import { ensureVirl2Client, judgeLabs } from './interop/virl2-client.mjs'
import { ensureEtcd } from './programs/etcd.mjs'
import { concluded, runVitest } from './run-vitest.mjs'
import { ensureReady } from './setup.mjs'

/** Each judge is fetched first, then run. A failed fetch is no failure, except in CI. */
const MONGO_WIRE = {
  name: 'mongo-wire',
  fetch: () => Promise.all([ensureMongoWire(), ensureEtcd()]),
  ask: () => runVitest('mongo-wire', ['--project=interop', '.mongo.test.ts']),
}
const MOTO = {
  name: 'moto',
  fetch: ensureMoto,
  ask: () => runVitest('moto', ['--project=interop', '.moto.test.ts'], { isShownLater: true }),
}
const VIRL2_CLIENT = { name: 'virl2_client', fetch: ensureVirl2Client, ask: judgeLabs }
const PROMTOOL = { name: 'promtool', fetch: ensurePromtool, ask: judgeAlerts }
const OPENAPI_GENERATOR = { name: 'openapi-generator', fetch: ensureClientGenerator, ask: judgeGeneratedClients }
const SCHEMATHESIS = { name: 'schemathesis', fetch: ensureSchemathesis, ask: judgeApi }

/** Two lanes run side by side, because mongo-wire mostly waits. */
const LANES = [[MONGO_WIRE], [MOTO, VIRL2_CLIENT, PROMTOOL]]
/** Each keeps all cores busy by itself. */
const LAST = [OPENAPI_GENERATOR, SCHEMATHESIS]

const startedAt = Date.now()
await ensureReady()
const fetched = fetchInOrder([...LANES.flat(), ...LAST].filter(isSelected))
const results = [...(await Promise.all(LANES.map(runLane))).flat(), ...(await runLane(LAST))]
concluded(results, startedAt)

/** Fetches the next judge while others run. Its failure is reported when it would run. */
function fetchInOrder(judges) {
  let before = Promise.resolve()
  return new Map(
    judges.map(({ name, fetch }) => {
      const fetching = before.then(fetch)
      before = fetching.catch(() => undefined)
      return [name, fetching]
    }),
  )
}

async function runLane(judges) {
  const results = []
  for (const judge of judges.filter(isSelected)) results.push(await run(judge))
  return results
}

function isSelected({ name }) {
  const names = process.argv.slice(2)
  return names.length === 0 || names.includes(name)
}

async function run({ name, ask }) {
  let program
  try {
    program = await fetched.get(name)
  } catch (error) {
    const isFailure = process.env.CI === 'true'
    console.log(`${isFailure ? 'FAILED' : 'skipped'}  ${name} did not run: ${error.message}`)
    return { passed: 0, failed: isFailure ? 1 : 0 }
  }
  return ask(program)
}
