// The software bill of materials of the product, in CycloneDX 1.6, from the lock file alone: equal lock files make equal texts.

/** The product, as workspaces: the command with its services, and the console. */
const PRODUCT = ['apps/lcm', 'apps/console']
const PACKAGE_NAME = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/

/** Every package that the product bundles or installs, given the content of package.json and package-lock.json. */
export function sbomOf({ name, version, license, description }, { packages }) {
  const product = { type: 'application', 'bom-ref': purlOf(name, version), name, version, description }
  const closure = closureOf(packages)
  const components = closure.filter(path => !isOwn(packages, path))
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...product, licenses: licensesOf(license), purl: product['bom-ref'] } },
    components: components.map(path => componentOf(path, packages[path])).sort(byRef),
    dependencies: [
      { ref: product['bom-ref'], dependsOn: refsOf(packages, directOf(packages, closure)) },
      ...components.map(path => ({
        ref: refOf(packages, path),
        dependsOn: refsOf(packages, dependenciesOf(packages, path)),
      })),
    ].sort((a, b) => compare(a.ref, b.ref)),
  }
}

function componentOf(path, { version, license, integrity, optional }) {
  const name = nameOf(path)
  const [, group, short] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [null, null, name]
  const [algorithm, digest] = (integrity ?? '').split('-')
  if (algorithm !== 'sha512' || license === undefined)
    throw new Error(`package-lock.json has no license or sha512 integrity of ${path}; run npm install.`)
  const ref = purlOf(name, version)
  return {
    type: 'library',
    'bom-ref': ref,
    ...(group === null ? {} : { group }),
    name: short,
    version,
    scope: optional === true ? 'optional' : 'required',
    hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    licenses: licensesOf(license),
    purl: ref,
  }
}

/** An SPDX id, or an expression of several. */
const licensesOf = license => (/[ (]/.test(license) ? [{ expression: license }] : [{ license: { id: license } }])

const purlOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`
const nameOf = path => PACKAGE_NAME.exec(path)[1]
const refOf = (packages, path) => purlOf(nameOf(path), packages[path].version)
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0)
const byRef = (a, b) => compare(a['bom-ref'], b['bom-ref'])
const refsOf = (packages, paths) => [...new Set(paths.map(path => refOf(packages, path)))].sort(compare)

/** Workspaces are links in the lock file; their own entry has the path of their folder. */
const isOwn = (packages, path) => !path.includes('node_modules/') || packages[path].link === true

function closureOf(packages) {
  const found = new Set(PRODUCT)
  for (const path of found) for (const dependency of dependenciesOf(packages, path)) found.add(dependency)
  return [...found]
}

/** Packages that our own code depends on. */
const directOf = (packages, closure) =>
  closure
    .filter(path => isOwn(packages, path))
    .flatMap(path => dependenciesOf(packages, path))
    .filter(path => !isOwn(packages, path))

function dependenciesOf(packages, path) {
  const { link, resolved, dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[path]
  if (link === true) return [resolved]
  const optionalPeers = new Set(
    Object.keys(peerDependenciesMeta ?? {}).filter(name => peerDependenciesMeta[name].optional),
  )
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
  return names.filter(name => !optionalPeers.has(name)).flatMap(name => installedFor(packages, path, name) ?? [])
}

/** Resolves like Node: in the package's own folder first, then outwards. */
function installedFor(packages, path, name) {
  for (let from = path; ; from = from.replace(/(^|\/)[^/]+$/, '')) {
    const candidate = `${from === '' ? '' : `${from}/`}node_modules/${name}`
    if (packages[candidate] !== undefined) return candidate
    if (from === '') return undefined
  }
}
