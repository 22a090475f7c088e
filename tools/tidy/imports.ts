import { type ImportRow, type ImportTable, readImportTable } from './import-table.ts'
import { type Import, SCOPE, type Source } from './parse-source.ts'
import { fileAt, isTest, type Tree, type Violation, type Workspace, workspaceOf } from './repository-tree.ts'
import { EVERY_MODULE, loadedFile, type Target, targetOf } from './resolve-import.ts'

const PAGE = 'ARCHITECTURE.md'
const OPEN_TO_TESTS = new Set(['testkit', 'cloud-sim', 'client', 'coordination'])
const TEST_TOOLS = new Set(['vitest', 'fast-check'])
/** Folders beside the packages: they see everything and nothing sees them. */
const OUTSIDE = /^(simulation|bench|examples|tools)\//
/** The command of a checkout loads the bundle, if there is one. */
const COMPUTED = /^apps\/lcm\/bin\/lcm\.mjs$/

/** Every import obeys the table in ARCHITECTURE.md, so that page and code can't drift apart. */
export function checkImports(tree: Tree): Violation[] {
  const workspaces = tree.workspaces.map(({ name }) => name)
  const table = readImportTable(fileAt(tree, PAGE)?.text ?? '', workspaces)
  const missing = workspaces.filter(name => !table.has(name) && !hasRowsForFolders(table, name))
  const rule = `no row "who may import whom" for ${missing.join(', ')}`
  return [
    ...(missing.length > 0 ? [{ path: PAGE, line: 1, rule, use: 'a row | package | may import | never |' }] : []),
    ...[...table].flatMap(([name, row]) => checkRow(tree, name, row)),
    ...tree.workspaces.flatMap(checkExports),
    ...tree.sources.flatMap(importCheckOf(tree, table)),
  ]
}

/** The check of one file, which need not be in the tree yet. */
export function importCheckOf(tree: Tree, table: ImportTable): (source: Source) => Violation[] {
  const rules = { tree, table, graph: graphOf(tree) }
  return source => source.imports.flatMap(found => checkImport(rules, source, found))
}

const hasRowsForFolders = (table: ImportTable, name: string): boolean =>
  [...table.keys()].some(known => known.startsWith(`${name}/`))

/** The row that holds for a file: the one of its folder in `src`, or else the one of its workspace. */
function rowNameOf(tree: Tree, table: ImportTable, path: string): string | undefined {
  const workspace = workspaceOf(tree, path)
  if (workspace === undefined || !path.startsWith(`${workspace.folder}/src/`)) return workspace?.name
  const [first = ''] = path.slice(`${workspace.folder}/src/`.length).split('/')
  return folderName(table, workspace.name, first)
}

const folderName = (table: ImportTable, workspace: string, first: string): string =>
  table.has(`${workspace}/${first}`) ? `${workspace}/${first}` : workspace

/** A row that says what can't be checked, or two things at once, protects nothing. */
function checkRow(tree: Tree, name: string, row: ImportRow): Violation[] {
  const wrong = [
    ...row.unknown.map(word => `no rule understands "${word}"`),
    ...[...row.never].filter(other => row.may.has(other)).map(other => `may import ${other} and never does`),
    ...[...row.neverModules]
      .filter(module => moduleFile(tree, module) === undefined)
      .map(module => `no package exports "${module}"`),
  ]
  return wrong.map(rule => ({
    path: PAGE,
    line: 1,
    rule: `the row of ${name}: ${rule}`,
    use: 'words that tools/tidy reads',
  }))
}

function moduleFile(tree: Tree, module: string): string | undefined {
  const file = loadedFile(tree, PAGE, `${SCOPE}${module}`)
  return file !== undefined && fileAt(tree, file) ? file : undefined
}

/** An import path is a path in `src`: behind any other export no rule finds the file. */
function checkExports({ folder, manifest }: Workspace): Violation[] {
  const allowed: Readonly<Record<string, string>> = { '.': './src/index.ts', [EVERY_MODULE]: './src/*.ts' }
  const odd = Object.entries(manifest.exports ?? {}).filter(([key, file]) => allowed[key] !== file)
  const path = `${folder}/package.json`
  return odd.map(([key]) => ({ path, line: 1, rule: `exports ${key}`, use: '"./*": "./src/*.ts"' }))
}

interface Rules {
  readonly tree: Tree
  readonly table: ImportTable
  readonly graph: Graph
}

function checkImport(rules: Rules, source: Source, found: Import): Violation[] {
  const target = targetOf(source.path, found.specifier)
  const name = rowNameOf(rules.tree, rules.table, source.path)
  const row = name === undefined ? undefined : rules.table.get(name)
  const use =
    leavesItsFolder(rules.tree, source.path, target) ??
    (name && row && refusal({ ...rules, name, row, source, found, target }))
  return use ? [{ path: source.path, line: found.line, rule: `import of ${found.specifier}`, use }] : []
}

function leavesItsFolder(tree: Tree, from: string, target: Target): string | undefined {
  if (target.kind !== 'file') return undefined
  const folder = workspaceOf(tree, from)?.folder ?? OUTSIDE.exec(from)?.[1]
  if (folder === undefined || target.path.startsWith(`${folder}/`)) return undefined
  if (folder === 'bench' && target.path.startsWith('simulation/')) return undefined
  return 'the @lcm/ name of a package; only bench imports simulation'
}

interface Question extends Rules {
  readonly name: string
  readonly row: ImportRow
  readonly source: Source
  readonly found: Import
  readonly target: Target
}

/** Why an import is refused; undefined when it is fine. */
function refusal(question: Question): string | undefined {
  const { name, row, source, target } = question
  const inTest = isTest(source.path)
  switch (target.kind) {
    case 'file':
      return isTest(target.path) && !inTest ? 'nothing of the tests' : refusalOfFolder(question, target.path)
    case 'computed':
      return inTest || COMPUTED.test(source.path) ? undefined : 'a name in quotes, which rules can read'
    case 'built-in':
      return row.mayBuiltIns || inTest ? undefined : `nothing of Node in ${name}; take it as an argument`
    case 'package':
      if (row.installed?.has(target.name) ?? true) return undefined
      return inTest && TEST_TOOLS.has(target.name) ? undefined : `what the table in ${PAGE} allows ${name}`
    case 'ours':
      return refusalOfOurs(question, target)
  }
}

/** Another folder of the same workspace counts as a package when it has a row of its own. */
function refusalOfFolder(question: Question, path: string): string | undefined {
  const { tree, table, name } = question
  const other = rowNameOf(tree, table, path)
  if (other === undefined || other === name || path.endsWith('.json') || mayImport(question, other)) return undefined
  return `what the table in ${PAGE} allows ${name}`
}

type Ours = Extract<Target, { kind: 'ours' }>

function refusalOfOurs(question: Question, target: Ours): string | undefined {
  const { tree, table, graph, name, row, source, found } = question
  const inTest = isTest(source.path)
  const imported = folderName(table, target.name, target.subpath.split('/')[0] ?? '')
  const isClock = target.name === 'runtime' && target.subpath === 'clock' && !row.isClosed
  if (!isClock && !mayImport(question, imported)) return `what the table in ${PAGE} allows ${name}`
  const file = loadedFile(tree, source.path, found.specifier)
  if (!inTest && isTest(file ?? `/${target.subpath}/`)) return 'nothing of the tests'
  if (inTest && OPEN_TO_TESTS.has(target.name)) return undefined
  const module = [...row.neverModules].find(never => loads(graph, file, moduleFile(tree, never)))
  return module && `nothing that loads ${module}, which the table in ${PAGE} forbids ${name}`
}

function mayImport({ table, name, row, source, found }: Question, imported: string): boolean {
  if (imported === name) return true
  if (isTest(source.path) && OPEN_TO_TESTS.has(imported)) return true
  if (table.get(imported)?.onlyBy?.has(name) === false) return false
  if (row.may.has(imported)) return true
  const isLazy = found.kind === 'dynamic' || found.kind === 'type'
  return isLazy && row.mayDynamically.has(imported)
}

/** Every file that a file loads, directly or not, types included; itself too. */
type Graph = (file: string) => ReadonlySet<string>

const loads = (graph: Graph, file: string | undefined, other: string | undefined): boolean =>
  file !== undefined && other !== undefined && graph(file).has(other)

function graphOf(tree: Tree): Graph {
  const sources = new Map(tree.sources.map(source => [source.path, source]))
  const known = new Map<string, ReadonlySet<string>>()
  function walk(file: string): ReadonlySet<string> {
    const loaded = new Set([file])
    // The set grows while it is walked.
    for (const path of loaded)
      for (const { specifier } of sources.get(path)?.imports ?? []) {
        const next = loadedFile(tree, path, specifier)
        if (next !== undefined) loaded.add(next)
      }
    return loaded
  }
  return file => {
    const loaded = known.get(file) ?? walk(file)
    known.set(file, loaded)
    return loaded
  }
}
