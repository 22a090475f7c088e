import { type ImportRow, type ImportTable, readImportTable } from './import-table.ts'
import { type Target, targetOf } from './modules.ts'
import type { Import, Source } from './source.ts'
import { fileAt, isTest, type Tree, type Violation, workspaceOf } from './tree.ts'

const PAGE = 'ARCHITECTURE.md'
const OPEN_TO_TESTS = new Set(['testkit', 'cloud-sim', 'client', 'coordination'])
const TEST_TOOLS = new Set(['vitest', 'fast-check'])
/** Folders beside the packages: they see everything and nothing sees them. */
const OUTSIDE = /^(simulation|bench|examples|tools)\//
/** The only installed packages these may import. What others may import is a matter of their package.json. */
const INSTALLED: Readonly<Record<string, readonly string[]>> = { domain: ['zod'], contract: ['zod'], runtime: [] }
const WITHOUT_BUILT_INS = new Set(['domain', 'contract'])
const WITHOUT_CLOCK = new Set(['domain', 'contract'])

/** Every import obeys the table in ARCHITECTURE.md, so that page and code can't drift apart. */
export function checkImports(tree: Tree): Violation[] {
  const names = tree.workspaces.map(({ name }) => name)
  const table = readImportTable(fileAt(tree, PAGE)?.text ?? '', names)
  const missing = names.filter(name => !table.has(name))
  const rule = `no row "who may import whom" for ${missing.join(', ')}`
  return [
    ...(missing.length > 0 ? [{ path: PAGE, line: 1, rule, use: 'a row | package | may import | never |' }] : []),
    ...tree.sources.flatMap(source => source.imports.flatMap(found => checkImport(tree, table, source, found))),
  ]
}

function checkImport(tree: Tree, table: ImportTable, source: Source, found: Import): Violation[] {
  const target = targetOf(source.path, found.specifier)
  const name = workspaceOf(tree, source.path)?.name
  const row = name === undefined ? undefined : table.get(name)
  const use =
    leavesItsFolder(tree, source.path, target) ?? (name && row && refusal({ name, row, source, found, target }))
  return use ? [{ path: source.path, line: found.line, rule: `import of ${found.specifier}`, use }] : []
}

function leavesItsFolder(tree: Tree, from: string, target: Target): string | undefined {
  if (target.kind !== 'file') return undefined
  const folder = workspaceOf(tree, from)?.folder ?? OUTSIDE.exec(from)?.[1]
  if (folder === undefined || target.path.startsWith(`${folder}/`)) return undefined
  return 'the @lcm/ name of a package; nothing imports simulation, bench, examples or tools'
}

interface Question {
  readonly name: string
  readonly row: ImportRow
  readonly source: Source
  readonly found: Import
  readonly target: Target
}

/** Why an import is refused; undefined when it is fine. */
function refusal({ name, row, source, found, target }: Question): string | undefined {
  const inTest = isTest(source.path)
  switch (target.kind) {
    case 'file':
      return isTest(target.path) && !inTest ? 'nothing of the tests' : undefined
    case 'built-in':
      return WITHOUT_BUILT_INS.has(name) && !inTest ? `nothing of Node in ${name}; take it as an argument` : undefined
    case 'package':
      if (INSTALLED[name]?.includes(target.name) ?? true) return undefined
      return inTest && TEST_TOOLS.has(target.name)
        ? undefined
        : `${INSTALLED[name]?.join(', ') || 'nothing installed'} only`
    case 'ours': {
      const { subpath } = target
      if (subpath.split('/').some(part => row.neverModules.has(part)))
        return `its own port; ${subpath} is another app's`
      return mayImport({ name, row, source, found, target }, target)
        ? undefined
        : `what the table in ${PAGE} allows ${name}`
    }
  }
}

function mayImport({ name, row, source, found }: Question, target: Extract<Target, { kind: 'ours' }>): boolean {
  if (target.name === name) return true
  if (isTest(source.path) && OPEN_TO_TESTS.has(target.name)) return true
  if (target.name === 'testkit') return false
  if (row.may.has(target.name)) return true
  if (target.name === 'runtime' && target.subpath === 'clock') return !WITHOUT_CLOCK.has(name)
  const isLazy = found.kind === 'dynamic' || found.kind === 'type'
  if (isLazy && row.mayDynamically.has(target.name)) return true
  return source.path.endsWith('/src/main.ts') && row.mayInMain.has(target.name)
}
