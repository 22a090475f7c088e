import { Visitor } from 'rolldown/utils'
import type { Source } from './parse-source.ts'
import type { Tree, Violation } from './repository-tree.ts'

interface Extension {
  readonly path: string
  readonly line: number
  readonly name: string
  readonly parent: string
}

/** Only Error is inherited. Behavior is added by functions that wrap a value and return the same type. */
export function checkClasses(tree: Tree): Violation[] {
  const extensions = tree.sources.flatMap(extensionsOf)
  const parents = new Map(extensions.map(({ name, parent }) => [name, parent]))
  return extensions
    .filter(({ parent }) => !isError(parent, parents))
    .map(({ path, line, name, parent }) => {
      return { path, line, rule: `class ${name} extends ${parent}`, use: 'composition; only errors inherit' }
    })
}

/** The base class of an error in another package is unknown here, so the name decides. */
function isError(name: string, parents: ReadonlyMap<string, string>): boolean {
  const parent = parents.get(name)
  return parent === undefined ? name.endsWith('Error') : isError(parent, parents)
}

function extensionsOf(source: Source): Extension[] {
  const found: Extension[] = []
  const visit = (node: {
    start: number
    id: { name: string } | null
    superClass: { start: number; end: number } | null
  }) => {
    if (!node.superClass) return
    const parent = source.text.slice(node.superClass.start, node.superClass.end)
    found.push({ path: source.path, line: source.lineAt(node.start), name: node.id?.name ?? '(no name)', parent })
  }
  new Visitor({ ClassDeclaration: visit, ClassExpression: visit }).visit(source.program)
  return found
}
