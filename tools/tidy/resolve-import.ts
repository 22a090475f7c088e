import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import { SCOPE } from './parse-source.ts'
import { fileAt, type Tree } from './repository-tree.ts'

/** Where an import leads. */
export type Target =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'ours'; readonly name: string; readonly subpath: string }
  | { readonly kind: 'built-in' }
  | { readonly kind: 'package'; readonly name: string }
  /** By a name that is made at run time. */
  | { readonly kind: 'computed' }

/** The one pattern that a package exports: an import path is the path of the file in `src`. */
export const EVERY_MODULE = './*'

const ABSOLUTE = /^(\/|file:)/

export function targetOf(from: string, named: string | null): Target {
  if (named === null) return { kind: 'computed' }
  if (ABSOLUTE.test(named)) return { kind: 'file', path: named }
  if (named.startsWith('.')) return { kind: 'file', path: posix.join(posix.dirname(from), named.replace(/\?.*$/, '')) }
  const specifier = posix.normalize(named)
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) return { kind: 'built-in' }
  const [first = '', second = '', ...rest] = specifier.split('/')
  if (specifier.startsWith(SCOPE)) return { kind: 'ours', name: second, subpath: rest.join('/') }
  return { kind: 'package', name: first.startsWith('@') ? `${first}/${second}` : first }
}

/** The file of ours that an import loads, through the package's `exports` if need be. */
export function loadedFile(tree: Tree, from: string, specifier: string | null): string | undefined {
  const target = targetOf(from, specifier)
  if (target.kind === 'file')
    return [target.path, `${target.path}.ts`, `${target.path}.tsx`].find(path => fileAt(tree, path))
  if (target.kind !== 'ours') return undefined
  const workspace = tree.workspaces.find(({ name }) => name === target.name)
  const exports = workspace?.manifest.exports ?? {}
  const exported = target.subpath === '' ? exports['.'] : exports[EVERY_MODULE]?.replace('*', target.subpath)
  return workspace && exported && posix.join(workspace.folder, exported)
}
