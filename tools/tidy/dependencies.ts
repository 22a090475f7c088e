import type { Source } from './parse-source.ts'
import { fileAt, isTest, type Manifest, type Tree, type Violation, type Workspace } from './repository-tree.ts'
import { targetOf } from './resolve-import.ts'

/** Runs only with the tools of the root: tests, configuration of tools, and the package for tests. */
const TOOLING = /\.config\.ts$|^packages\/testkit\//

interface Use {
  readonly name: string
  readonly path: string
  readonly line: number
}

/** package.json says what the sources import, no less and no more. */
export function checkDependencies(tree: Tree): Violation[] {
  const root: Manifest = JSON.parse(fileAt(tree, 'package.json')?.text ?? '{}')
  return tree.workspaces.flatMap(workspace => {
    const sources = tree.sources.filter(({ path }) => path.startsWith(`${workspace.folder}/`))
    return [...undeclared(workspace, root, sources), ...unused(tree, workspace, sources), ...aliased(workspace)]
  })
}

/** `"zod": "npm:@lcm/cloud"` would let a forbidden package in under an allowed name. */
function aliased({ folder, manifest }: Workspace): Violation[] {
  const declared = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
  const path = `${folder}/package.json`
  return declared
    .filter(([, version]) => !/^\d/.test(version))
    .map(([name, version]) => ({ path, line: 1, rule: `${name} is ${version}`, use: 'a version: 1.2.3' }))
}

function undeclared({ name, folder, manifest }: Workspace, root: Manifest, sources: readonly Source[]): Violation[] {
  const declared = new Set([`@lcm/${name}`, ...Object.keys(manifest.dependencies ?? {})])
  const forTests = new Set([...Object.keys(manifest.devDependencies ?? {}), ...Object.keys(root.devDependencies ?? {})])
  const isFine = ({ name, path }: Use) =>
    declared.has(name) || (isTest(path) && name.startsWith('@lcm/')) || (isTooling(path) && forTests.has(name))
  return sources
    .flatMap(usesIn)
    .filter(use => !isFine(use))
    .map(({ path, line, name }) => ({
      path,
      line,
      rule: `undeclared dependency ${name}`,
      use: `"dependencies" of ${folder}/package.json`,
    }))
}

function unused(tree: Tree, { name, folder, manifest }: Workspace, sources: readonly Source[]): Violation[] {
  const path = `${folder}/package.json`
  const lines = fileAt(tree, path)?.text.split('\n') ?? []
  const used = new Set(sources.flatMap(usesIn).map(use => use.name))
  const usedByProduct = new Set(
    sources
      .filter(source => !isTest(source.path))
      .flatMap(usesIn)
      .map(use => use.name),
  )
  const idle = [
    ...Object.keys(manifest.dependencies ?? {}).filter(dependency => !usedByProduct.has(dependency)),
    ...Object.keys(manifest.devDependencies ?? {}).filter(dependency => !used.has(dependency)),
  ]
  return idle.map(dependency => ({
    path,
    line: lines.findIndex(line => line.includes(`"${dependency}"`)) + 1,
    rule: `${name} never imports ${dependency}`,
    use: 'nothing; delete the line (tests import without declaring)',
  }))
}

const isTooling = (path: string) => isTest(path) || TOOLING.test(path)

function usesIn({ path, imports }: Source): Use[] {
  return imports.flatMap(({ specifier, line }) => {
    const target = targetOf(path, specifier)
    if (target.kind === 'ours') return [{ name: `@lcm/${target.name}`, path, line }]
    return target.kind === 'package' ? [{ name: target.name, path, line }] : []
  })
}
