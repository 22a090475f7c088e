// `npm test`: set up, then lint, types and every suite. Ends with one line, `N passed, N failed`.
import { ensureChromium } from './chromium.mjs'
import { ensureEtcd } from './etcd.mjs'
import { binOf, ensureReady, run } from './setup.mjs'
import { concluded, INTEROP_SUITES, runSuites, seconds } from './suites.mjs'

/** Suites that talk to servers which are not ours to install with npm. */
const SERVER_SUITES = ['**/*.etcd.test.ts', '**/*.e2e.test.ts']
const TYPE_PROJECTS = ['tsconfig.json', 'apps/console/tsconfig.json', 'apps/console/e2e/tsconfig.json']

const startedAt = Date.now()
const args = process.argv.slice(2)
const unitOnly = args.includes('--unit')
const passedOn = args.filter(arg => arg !== '--unit')

await ensureReady()
if (!unitOnly) {
  await ensureServers().catch(error => {
    console.error(`${error.message} Or run what needs no server: npm run test:unit`)
    process.exit(1)
  })
}
concluded([await lint(), await types(), ...(await Promise.all([suites(), browserSuites()]))], startedAt)

async function lint() {
  return check('lint', [[binOf('@biomejs/biome', 'biome'), 'check', '.']])
}

async function types() {
  const tsc = binOf('typescript', 'tsc')
  return check(
    'types',
    // In threads of its own each would compute much of the same: the projects share the cores as they are.
    TYPE_PROJECTS.map(project => [tsc, '-p', project, '--noEmit', '--singleThreaded']),
  )
}

/** Counts as one test, however many commands it takes. Speaks only when one of them fails. */
async function check(title, commands) {
  const checkedAt = Date.now()
  const runs = await Promise.all(commands.map(command => run(process.execPath, command)))
  const failed = runs.filter(({ code }) => code !== 0)
  for (const { output } of failed) console.log(output.trimEnd())
  console.log(`${failed.length === 0 ? 'ok' : 'FAILED'}  ${title} (${seconds(checkedAt)})`)
  return failed.length === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }
}

/** One after the other: apt-get does one thing at a time. */
async function ensureServers() {
  await ensureEtcd()
  await ensureChromium()
}

/** The console in a real browser, beside the rest; with arguments for vitest only what they name is asked for. */
async function browserSuites() {
  if (unitOnly || passedOn.length > 0) return { passed: 0, failed: 0 }
  return runSuites('browser', ['--config', 'vitest.browser.config.ts'], { isShownLater: true })
}

function suites() {
  const left = unitOnly ? [...INTEROP_SUITES, ...SERVER_SUITES] : INTEROP_SUITES
  return runSuites('vitest', [...left.map(suite => `--exclude=${suite}`), ...passedOn])
}
