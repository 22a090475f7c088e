import type { Tree, Violation } from './repository-tree.ts'
import { loadedFile } from './resolve-import.ts'

/** No file imports itself through others. Type imports count: two files that need each other are one idea or three. */
export function checkCycles(tree: Tree): Violation[] {
  return importCycles(tree).map(files => ({
    path: files[0] ?? '',
    line: 1,
    rule: `import cycle of ${files.length} files: ${files.join(', ')}`,
    use: 'a third file with what they share, or one file',
  }))
}

/** Groups of files that reach each other by imports (Tarjan's strongly connected components). */
export function importCycles(tree: Tree): string[][] {
  const imports = importGraph(tree)
  const found: string[][] = []
  const stack: string[] = []
  const onStack = new Set<string>()
  const indexes = new Map<string, number>()
  function lowestFrom(file: string): number {
    const index = indexes.size
    let lowest = index
    indexes.set(file, index)
    stack.push(file)
    onStack.add(file)
    for (const next of imports.get(file) ?? []) {
      if (!indexes.has(next)) lowest = Math.min(lowest, lowestFrom(next))
      else if (onStack.has(next)) lowest = Math.min(lowest, indexes.get(next) ?? index)
    }
    if (lowest === index) {
      const group = stack.splice(stack.indexOf(file))
      for (const member of group) onStack.delete(member)
      if (group.length > 1 || imports.get(file)?.has(file)) found.push(group.toSorted())
    }
    return lowest
  }
  for (const file of imports.keys()) if (!indexes.has(file)) lowestFrom(file)
  return found.toSorted()
}

/** A string that names a module is no import: it goes to a bundler, for instance. */
function importGraph(tree: Tree): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Set(tree.sources.map(({ path }) => path))
  return new Map(
    tree.sources.map(({ path, imports }) => {
      const loaded = imports
        .filter(({ kind }) => kind !== 'string')
        .map(({ specifier }) => loadedFile(tree, path, specifier))
      return [path, new Set(loaded.filter(file => file !== undefined && known.has(file)) as string[])]
    }),
  )
}
