// Has schemathesis judge the API of real processes, once as each role, by the OpenAPI document that they serve. Plain Node.
import { join } from 'node:path'
import { seconds } from '../run-vitest.mjs'
import { root } from '../setup.mjs'
import { ensurePython } from './python-packages.mjs'
import { callProduct, outputOf, startProduct, withTemporaryFolder } from './running-product.mjs'

/** The same versions and the same seed find the same things. */
const PINNED = ['schemathesis==4.32.5', 'hypothesis==6.170.15']
const SEED = process.env.INTEROP_SEED ?? '1'
/** How many requests are made up for each operation, besides those that cover its schema. */
const EXAMPLES = process.env.INTEROP_EXAMPLES ?? '10'
const AT_ONCE = 2
const RUN_MS_MAX = 60 * 60_000

/** Roles that are refused most operations need only a few examples of each. */
const BRIEFLY = '--phases=examples,fuzzing'
const RUNS = [
  { role: 'admin' },
  { role: 'operator', prepare: reportLeak },
  { role: 'controller', service: 'worker-controller', prepare: takeOver },
  { role: 'controller', service: 'resource-scheduler', prepare: takeOver },
  { role: 'controller', service: 'lablet-controller', options: [BRIEFLY] },
  { role: 'author', options: [BRIEFLY] },
  { role: 'user', options: [BRIEFLY] },
]
/** Elsewhere there is one loopback address, which many wrong tokens would shut out (see hooks.py). */
const OPTIONS = process.platform === 'linux' ? [] : ['--exclude-checks=ignored_auth']

const TERM = { epoch: 1_000_000, instance_id: 'schemathesis' }
const LOST = { code: 'text', message: 'the machine was lost', params: { text: 'the machine was lost' } }
const LEAK = { worker_id: 'w-gone', udi: null, hostname: null, product: null, reason: LOST }

/** Resolves with the Python that has schemathesis. Rejects with one sentence. */
export function ensureSchemathesis() {
  return ensurePython('schemathesis', PINNED)
}

/** Each role gets a product of its own, and counts as one test. */
export async function judgeApi(python) {
  const waiting = [...RUNS]
  const results = []
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) results.push(await judged(python, next))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return { passed: results.filter(Boolean).length, failed: results.filter(passed => !passed).length }
}

async function judged(python, run) {
  const startedAt = Date.now()
  const findings = await withTemporaryFolder(folder => findingsOf(python, run, folder)).catch(error => ({
    problem: error.message,
  }))
  const { problem, summary = '' } = findings
  if (problem !== undefined) console.log(problem)
  const verdict = problem === undefined ? 'ok' : 'FAILED'
  console.log(`${verdict}  schemathesis as ${run.service ?? run.role} (${seconds(startedAt)}) ${summary}`)
  return problem === undefined
}

async function findingsOf(python, run, folder) {
  const product = await startProduct(join(folder, 'data'))
  try {
    const token = run.role === 'admin' ? product.adminToken : await newToken(product, run)
    await run.prepare?.(product, { ...run, token })
    const { code, output } = await ask(python, { ...run, token, url: product.url, folder })
    const [summary = ''] = /\d+ generated.*/.exec(output) ?? []
    if (product.hasEnded())
      return { problem: `lcm up ended during the run. Its last log lines:\n${product.lastLines()}` }
    if (code === 0 && summary !== '') return { summary }
    return { problem: output.slice(Math.max(0, output.search(/^=+ (ERRORS|FAILURES) =+$/m))), summary }
  } finally {
    await product.stop()
  }
}

function ask(python, { role, service, token, url, folder, options = [] }) {
  const env = {
    ...process.env,
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONPATH: join(root, 'tools', 'interop'),
    SCHEMATHESIS_HOOKS: 'hooks',
    NO_PROXY: '127.0.0.1',
    LCM_TOKEN: token,
    LCM_ROLE: role,
    LCM_SERVICE: service ?? '',
    LCM_EPOCH: String(TERM.epoch),
  }
  const config = ['--config-file', join(root, 'tools', 'interop', 'schemathesis.toml')]
  const limits = [`--seed=${SEED}`, `--max-examples=${EXAMPLES}`, '--no-color', ...OPTIONS, ...options]
  const args = ['-m', 'schemathesis.cli', ...config, 'run', `${url}/api/v1/openapi.json`, ...limits]
  return outputOf(python, args, { cwd: folder, env, timeout: RUN_MS_MAX })
}

async function newToken(product, { role, service }) {
  const { secret } = await callProduct(product, product.adminToken, ['POST', '/tokens'], {
    body: { name: 'judge', role, service },
  })
  return secret
}

/** Only the newest leader may write, so the controller of the product loses its leadership. */
async function takeOver(product, { service, token }) {
  await callProduct(product, token, ['PUT', `/services/${service}/term`], { body: TERM })
}

/** Only a controller can create a leak; operators resolve it. */
async function reportLeak(product) {
  const controller = { role: 'controller', service: 'worker-controller' }
  const token = await newToken(product, controller)
  await takeOver(product, { ...controller, token })
  const headers = { 'lcm-epoch': String(TERM.epoch) }
  await callProduct(product, token, ['POST', '/license-leaks'], { body: LEAK, headers })
}
