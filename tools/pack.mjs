// `npm run pack`: set up, then make the package that `npm install ./lablet-cloud-manager-VERSION.tgz` installs, in `dist`.
// The package holds its bill of materials, and a copy lies beside it. Given a folder, it packs what is built already into that. Plain Node.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { isOutsideProduct } from './bundles/external-packages.mjs'
import { sbomOf } from './bundles/sbom.mjs'
import { ensureReady, root, run } from './setup.mjs'

const ENTRY_WORKSPACE = '@lcm/lcm'
/** Files beside the bundle that the product reads, at the same paths as in a checkout. */
const SHIPPED = ['deploy/templates', 'examples/labs', 'LICENSE']
/** Software bill of materials, in CycloneDX. */
const SBOM = 'sbom.cdx.json'
/** Maps hold the sources; the stamp, earlier packages and their bills are the tools' own. */
const NOT_SHIPPED = /\.(map|tgz|cdx\.json)$|\/\.stamp$/
const README = `# Lablet Cloud Manager

Runs fleets of Cisco Modeling Labs servers on AWS EC2 and the lab sessions on them.

    npx lcm up            # a simulated cloud with a console, on loopback; needs no account
    npx lcm up --help     # real machines, ports, the data folder
    npx lcm --help        # everything else

\`lcm up\` prints the address of the console, a link that logs your browser in, and what to try next.
`

const [destination] = process.argv.slice(2)
if (destination === undefined) await ensureReady()
await pack(resolve(destination ?? join(root, 'dist')))

async function pack(into) {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-package-'))
  try {
    layOut(folder)
    const tarball = await packed(folder, into)
    cpSync(join(folder, SBOM), tarball.replace(/tgz$/, 'cdx.json'))
    console.log(
      `${basename(tarball)}: ${kilobytes(statSync(tarball).size)} packed, ${kilobytes(weightOf(folder))} unpacked`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function layOut(folder) {
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true, filter: path => !NOT_SHIPPED.test(path) })
  for (const path of SHIPPED) cpSync(join(root, path), join(folder, path), { recursive: true })
  const manifest = manifestOf()
  writeJson(join(folder, 'package.json'), manifest)
  writeJson(join(folder, 'npm-shrinkwrap.json'), lockOf(manifest))
  writeJson(join(folder, SBOM), sbomOf(readJson(join(root, 'package.json')), readJson(join(root, 'package-lock.json'))))
  writeFileSync(join(folder, 'README.md'), README)
}

/** Resolves with the path of the tarball. */
async function packed(folder, into) {
  mkdirSync(into, { recursive: true })
  const npm = process.env.npm_execpath
  const args = ['pack', folder, '--pack-destination', into, '--ignore-scripts']
  const { code, output } = await run(npm ? process.execPath : 'npm', npm ? [npm, ...args] : args)
  const { name, version } = readJson(join(folder, 'package.json'))
  const tarball = join(into, `${name}-${version}.tgz`)
  if (code === 0 && existsSync(tarball)) return tarball
  throw new Error(`npm pack failed; it printed:\n${output.trim()}`)
}

/** Packages that are not in the bundle are installed beside it, in the tested versions. */
function manifestOf() {
  const { name, version, description, license, type, engines } = readJson(join(root, 'package.json'))
  return {
    ...{ name, version, description, license, type, engines },
    bin: { lcm: 'dist/lcm.mjs' },
    dependencies: importsOf(ENTRY_WORKSPACE, workspaces()),
  }
}

function workspaces() {
  const folders = ['packages', 'apps'].flatMap(group => readdirSync(join(root, group)).map(name => join(group, name)))
  const manifests = folders.map(folder => readJson(join(root, folder, 'package.json')))
  return new Map(manifests.map(manifest => [manifest.name, manifest]))
}

/** House rules keep the manifest of each own package equal to its imports. */
function importsOf(entry, known) {
  const found = new Map()
  const seen = new Set([entry])
  for (const name of seen) {
    for (const [dependency, version] of Object.entries(known.get(name).dependencies ?? {})) {
      if (known.has(dependency)) seen.add(dependency)
      else if (isOutsideProduct(dependency)) found.set(dependency, version)
    }
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The part of our lock file that the package needs: who installs it gets what we tested, all the way down. */
function lockOf(manifest) {
  const { lockfileVersion, packages } = readJson(join(root, 'package-lock.json'))
  const needed = new Set([''])
  const wanted = { ...packages, '': manifest }
  for (const path of needed) {
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = wanted[path]
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const installed = installedFor(path, name, packages)
      if (installed !== undefined) needed.add(installed)
      else if (!optionalDependencies?.[name] && !peerDependenciesMeta?.[name]?.optional)
        throw new Error(`package-lock.json has no ${name} for ${path || manifest.name}; run npm install.`)
    }
  }
  const { name, version } = manifest
  const entries = [...needed].sort().map(path => [path, runtimeEntry(wanted[path])])
  return { name, version, lockfileVersion, requires: true, packages: Object.fromEntries(entries) }
}

/** Resolves like Node: in the package's own folder first, then outwards. */
function installedFor(path, name, packages) {
  for (let from = path; ; from = from.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')) {
    const candidate = `${from === '' ? '' : `${from}/`}node_modules/${name}`
    if (packages[candidate] !== undefined) return candidate
    if (from === '') return undefined
  }
}

/** Development and optional dependencies of the repository that the package needs. */
function runtimeEntry({ dev: _dev, devOptional: _devOptional, ...entry }) {
  return entry
}

function weightOf(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)
}

function kilobytes(bytes) {
  return `${Math.ceil(bytes / 1000)} kB`
}
