import { execFileSync } from 'node:child_process'
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSource, type Source } from './parse-source.ts'

export interface RepositoryFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string
  readonly bytes: Buffer
  /** Empty for pictures. */
  readonly text: string
}

/** The repository, read once for all rules. */
export interface Tree {
  readonly files: readonly RepositoryFile[]
  /** The files that are code, parsed. */
  readonly sources: readonly Source[]
  readonly workspaces: readonly Workspace[]
}

export interface Workspace {
  /** Without the scope: `domain`, `host`. */
  readonly name: string
  readonly folder: string
  readonly manifest: Manifest
}

export interface Manifest {
  readonly exports?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

export interface Violation {
  readonly path: string
  readonly line: number
  readonly rule: string
  /** What to do instead. */
  readonly use: string
}

export interface Rule {
  readonly name: string
  check(tree: Tree): readonly Violation[]
}

const CODE = /\.[cm]?[jt]sx?$/
const PICTURE = /\.(png|jpg|webp|gif|ico)$/
const GENERATED = /^packages\/coordination\/src\/(etcd|testing)\/generated\//
const MANIFEST = /^((?:packages|apps)\/([^/]+))\/package\.json$/

/** What git tracks and what it would track, so that a file is judged before it is added. */
export function readTree(root: string): Tree {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  const paths = listed.toString('utf8').split('\0').filter(Boolean)
  const present = [...new Set(paths)].filter(path => isFile(root, path))
  return treeOf(present.map(path => [path, readFileSync(join(root, path))]))
}

/** Throws for a symbolic link: what is behind it would pass every rule under another name. */
function isFile(root: string, path: string): boolean {
  const stat = lstatSync(join(root, path), { throwIfNoEntry: false })
  if (stat?.isSymbolicLink()) throw new Error(`${path} is a symbolic link: put the file itself there`)
  return stat?.isFile() ?? false
}

export function treeOf(contents: readonly (readonly [path: string, content: string | Buffer])[]): Tree {
  const files = contents.map(([path, content]): RepositoryFile => {
    const bytes = Buffer.from(content)
    return { path, bytes, text: PICTURE.test(path) ? '' : bytes.toString('utf8') }
  })
  const code = files.filter(file => CODE.test(file.path) && !GENERATED.test(file.path))
  return { files, sources: code.map(file => parseSource(file.path, file.text)), workspaces: workspacesOf(files) }
}

const indexes = new WeakMap<Tree, ReadonlyMap<string, RepositoryFile>>()

export function fileAt(tree: Tree, path: string): RepositoryFile | undefined {
  const index = indexes.get(tree) ?? new Map(tree.files.map(file => [file.path, file]))
  indexes.set(tree, index)
  return index.get(path)
}

export function workspaceOf(tree: Tree, path: string): Workspace | undefined {
  return tree.workspaces.find(workspace => path.startsWith(`${workspace.folder}/`))
}

/** Tests, the code they share, and the conformance suites of ports: they may use what the product may not. */
export function isTest(path: string): boolean {
  return /\.test\.tsx?$|\/testing\/|[/.-]conformance[/.]|^simulation\/cluster\//.test(path)
}

function workspacesOf(files: readonly RepositoryFile[]): Workspace[] {
  return files.flatMap(file => {
    const [, folder, name] = MANIFEST.exec(file.path) ?? []
    if (!folder || !name) return []
    const manifest: Manifest = JSON.parse(file.text)
    return [{ name, folder, manifest }]
  })
}
