// Makes a checkout ready to run: packages installed, product built. Plain Node, because it runs before anything is installed.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** Ignored by git; scratch space of the tools. */
export const cache = join(root, '.cache')

const BUILD_STAMP = join(root, 'dist', '.stamp')
const BUILD_INPUTS = [
  'packages',
  'apps',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tools/build.mjs',
  'tools/bundles/external-packages.mjs',
  'tools/bundles/third-party-licenses.mjs',
]
const NOT_BUILT = /(^|\/)(node_modules|dist)$|\.test\.tsx?$|\.md$/
const TAIL_LINES = 25

/** Resolves when the checkout is installed and built. Ends the process with one sentence when that can't be had. */
export async function ensureReady() {
  try {
    checkNode()
    if (packagesAreCurrent() && buildIsCurrent()) return
    await locked(async () => {
      // Checked again: the former owner of the lock may have done the work.
      if (!packagesAreCurrent()) await installPackages()
      if (!buildIsCurrent()) await build()
    })
  } catch (error) {
    console.error(`setup: ${error.message}`)
    process.exit(1)
  }
}

function checkNode() {
  const wanted = readJson('package.json').engines.node.replace('>=', '')
  const [major, minor] = wanted.split('.').map(Number)
  const [majorHere, minorHere] = process.versions.node.split('.').map(Number)
  if (majorHere > major || (majorHere === major && minorHere >= minor)) return
  throw new Error(`this needs Node.js ${wanted} or newer, and this is ${process.versions.node}.`)
}

/** npm writes the hidden lock file last, so it marks a finished install. */
function packagesAreCurrent() {
  const wanted = readJson('package-lock.json').packages
  const installed = readJson('node_modules/.package-lock.json')?.packages
  if (!installed) return false
  const missing = Object.entries(wanted).some(([path, { optional }]) => path && !optional && !installed[path])
  const wrong = Object.entries(installed).some(([path, { version }]) => wanted[path]?.version !== version)
  return !missing && !wrong
}

async function installPackages() {
  // npm names itself to the scripts it runs; without it (node tools/setup.mjs) the one on the PATH serves.
  const npm = process.env.npm_execpath
  const args = ['ci', '--include=dev']
  await step('installing packages', npm ? process.execPath : 'npm', npm ? [npm, ...args] : args)
  if (packagesAreCurrent()) return
  throw new Error(
    'npm ci succeeded, but node_modules differs from package-lock.json; delete node_modules and try again.',
  )
}

function buildIsCurrent() {
  return readText(BUILD_STAMP) === hashOfInputs()
}

/** Builds beside and swaps, so that `dist` is always whole: the last good build, or none. */
async function build() {
  const stamp = hashOfInputs()
  const out = join(cache, 'dist')
  rmSync(out, { recursive: true, force: true })
  await step('building', process.execPath, [join(root, 'tools', 'build.mjs'), out])
  writeFileSync(join(out, '.stamp'), stamp)
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  renameSync(out, join(root, 'dist'))
}

/** By content, not by time: a checkout back and forth doesn't build again. */
function hashOfInputs() {
  const hash = createHash('sha256')
  for (const path of BUILD_INPUTS.flatMap(filesUnder)) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0')
  }
  return hash.digest('hex')
}

function filesUnder(path) {
  if (NOT_BUILT.test(path)) return []
  if (!statSync(join(root, path)).isDirectory()) return [path]
  const names = readdirSync(join(root, path)).sort()
  return names.flatMap(name => filesUnder(`${path}/${name}`))
}

/** Runs a command silently; its last lines are shown only when it fails. */
async function step(title, command, args) {
  const startedAt = Date.now()
  process.stderr.write(`setup: ${title} ... `)
  const { code, output } = await run(command, args)
  process.stderr.write(`${code === 0 ? 'done' : 'failed'} in ${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`)
  if (code === 0) return
  const tail = stripVTControlCharacters(output).trimEnd().split('\n').slice(-TAIL_LINES)
  throw new Error(`${title} failed; the last lines it printed:\n${tail.map(line => `  ${line}`).join('\n')}`)
}

/** Runs a command in the root and resolves with its exit code and all it printed. */
export function run(command, args, { env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const collect = chunk => {
      output += chunk
    }
    child.stdout.setEncoding('utf8').on('data', collect)
    child.stderr.setEncoding('utf8').on('data', collect)
    child.on('error', error => reject(new Error(`${command} can't be run: ${error.message}.`)))
    child.on('close', code => resolve({ code: code ?? 1, output }))
  })
}

/** The script behind a package's command. Run with this Node, which works the same on every system. */
export function binOf(packageName, command = packageName) {
  const { bin } = readJson(`node_modules/${packageName}/package.json`)
  return join(root, 'node_modules', packageName, typeof bin === 'string' ? bin : bin[command])
}

/** As the linter wants it. */
export function writeJson(file, value) {
  writeFileSync(file, JSON.stringify(value))
  spawnSync(process.execPath, [binOf('@biomejs/biome', 'biome'), 'format', '--write', file], { cwd: root })
}

/** One setup per checkout at a time. The lock holds a pid, so a lock whose owner was killed is taken over. */
async function locked(work) {
  const lock = join(cache, 'setup.lock')
  const mine = `${lock}.${process.pid}`
  mkdirSync(cache, { recursive: true })
  // Written first and linked then, so that a lock always holds its pid.
  writeFileSync(mine, String(process.pid))
  try {
    let announced = false
    while (!tryLink(mine, lock)) {
      const owner = readText(lock)
      if (owner === undefined) continue
      if (!isAlive(Number(owner))) {
        discard(lock, owner)
        continue
      }
      if (!announced) console.error(`setup: waiting for another setup of this checkout (pid ${owner}, ${lock})`)
      announced = true
      await sleep(100)
    }
    try {
      return await work()
    } finally {
      rmSync(lock, { force: true })
    }
  } finally {
    rmSync(mine, { force: true })
  }
}

function tryLink(from, to) {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Moves a dead owner's lock away, and puts it back if another process was quicker and the lock is already its own. */
function discard(lock, owner) {
  const moved = `${lock}.dead-${process.pid}`
  try {
    renameSync(lock, moved)
  } catch (error) {
    if (error.code === 'ENOENT') return
    throw error
  }
  if (readText(moved) !== owner) tryLink(moved, lock)
  rmSync(moved, { force: true })
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function readJson(path) {
  const text = readText(join(root, path))
  return text === undefined ? undefined : JSON.parse(text)
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await ensureReady()
