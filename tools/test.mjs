// `npm test`: set up, then lint, types and every suite. Ends with one line, `N passed, N failed`.
//   --unit   without the suites that need etcd, the built product or a browser
//   --fast   only domain, runtime, contract and the store on SQLite: no lint, no types, nothing built
import { availableParallelism } from 'node:os'
import { ensureChromium } from './programs/chromium.mjs'
import { ensureEtcd } from './programs/etcd.mjs'
import { concluded, runVitest, seconds } from './run-vitest.mjs'
import { binOf, ensureReady, run } from './setup.mjs'

const TYPE_PROJECTS = ['tsconfig.json', 'apps/console/tsconfig.json', 'apps/console/e2e/tsconfig.json']

const startedAt = Date.now()
const args = process.argv.slice(2)
const unitOnly = args.includes('--unit')
const passedOn = args.filter(arg => !['--unit', '--fast'].includes(arg))
const FAST = ['packages/domain', 'packages/runtime', 'packages/contract', 'packages/store']

/** Projects of vitest.config.ts. */
const COMPUTING = ['--project=unit', '--project=virtual']
const WAITING = ['--project=processes', ...(unitOnly ? [] : ['--project=servers'])]
const BUNDLED = ['--mode=bundle']

if (args.includes('--fast')) await fast()
else await everything()

async function fast() {
  concluded([await runVitest('fast', ['--project=unit', ...FAST, ...passedOn])], startedAt)
}

async function everything() {
  await ensureReady()
  if (!unitOnly) await ensureServers()
  const suites = passedOn.length > 0 ? [named()] : await all()
  concluded(await Promise.all([lint(), types(), ...suites]), startedAt)
}

/** Suites that wait run beside those that compute, which are as many as there are cores and give way. */
async function all() {
  // Imported late because its packages may have just been installed.
  const { bundleTests } = await import('./bundles/bundle-tests.mjs')
  await bundleTests()
  return [computing(), waiting(), browser()]
}

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

/** One after the other, since apt-get does one thing at a time. Ends the process with one sentence when one can't be had. */
async function ensureServers() {
  try {
    await ensureEtcd()
    await ensureChromium()
  } catch (error) {
    console.error(`${error.message} Or run what needs no server: npm run test:unit`)
    process.exit(1)
  }
}

function computing() {
  return runVitest('computing', [...BUNDLED, ...COMPUTING, `--maxWorkers=${availableParallelism()}`], {
    isPolite: true,
  })
}

function waiting() {
  return runVitest('waiting', [...BUNDLED, ...WAITING, '--maxWorkers=2'], { isShownLater: true })
}

/** The console in a real browser. */
function browser() {
  if (unitOnly) return { passed: 0, failed: 0 }
  return runVitest('browser', ['--config', 'vitest.browser.config.ts'], { isShownLater: true })
}

/** With arguments for vitest only the suites that they name run. */
function named() {
  return runVitest('named', [...COMPUTING, ...WAITING, ...passedOn])
}
