import { Visitor } from 'rolldown/utils'
import type { Source } from './parse-source.ts'
import { isTest, type Tree, type Violation, workspaceOf } from './repository-tree.ts'
import { loadedFile } from './resolve-import.ts'

const PRODUCT = /^(packages|apps)\/[^/]+\/src\/.*\.tsx?$/
/** Wiring is proved by running it, what the page draws by a browser, and the package for tests by the tests that use it. */
const EXEMPT = /\/src\/main\.tsx?$|^apps\/console\/src\/(parts|pages)\/|\.tsx$|^packages\/testkit\//

/**
 * Every file that does something has a test beside it, or is loaded by one: imported by a test, or by a file of its own
 * package that is. The test may be in another folder: a command is tested through the API that runs it.
 */
export function checkTested(tree: Tree): Violation[] {
  const paths = new Set(tree.sources.map(({ path }) => path))
  const loaded = loadedByTests(tree)
  return tree.sources
    .filter(({ path }) => PRODUCT.test(path) && !EXEMPT.test(path) && !isTest(path))
    .filter(source => !paths.has(besideOf(source.path)) && !loaded.has(source) && doesSomething(source))
    .map(({ path }) => ({ path, line: 1, rule: 'no test loads this', use: `a test beside it, ${besideOf(path)}` }))
}

const besideOf = (path: string) => path.replace(/\.tsx?$/, '.test$&')

function loadedByTests(tree: Tree): ReadonlySet<Source> {
  const sources = new Map(tree.sources.map(source => [source.path, source]))
  const importsOf = (from: Source) =>
    from.imports.flatMap(({ specifier }) => sources.get(loadedFile(tree, from.path, specifier) ?? '') ?? [])
  const loaded = new Set(tree.sources.filter(({ path }) => isTest(path)).flatMap(importsOf))
  // The set grows while it is walked. It stays inside a package: a test of one says little about another.
  for (const source of loaded) {
    const home = workspaceOf(tree, source.path)
    for (const next of importsOf(source)) if (workspaceOf(tree, next.path) === home) loaded.add(next)
  }
  return loaded
}

/** Types and plain data have nothing to test. */
function doesSomething({ program }: Source): boolean {
  let found = false
  const mark = () => {
    found = true
  }
  new Visitor({ FunctionDeclaration: mark, FunctionExpression: mark, ArrowFunctionExpression: mark }).visit(program)
  return found
}
