import { dirname } from 'node:path'
import { isTest, type Tree, type Violation } from './repository-tree.ts'

const FOLDER_FILES_MAX = 20
/** In simulation/cluster the real processes are the subject: its files count as source, and only its test files don't. */
const CLUSTER = /^simulation\/cluster\/(?!.*\.test\.ts$)/

/** A folder holds at most 20 source files, so that its listing fits on one screen. Tests and generated code don't count. */
export function checkFolders(tree: Tree): Violation[] {
  const counts = new Map<string, number>()
  for (const { path } of tree.sources) {
    if (isTest(path) && !CLUSTER.test(path)) continue
    const folder = dirname(path)
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, count]) => count > FOLDER_FILES_MAX)
    .map(([path, count]) => ({
      path,
      line: 1,
      rule: `folder of ${count} source files, at most ${FOLDER_FILES_MAX}`,
      use: 'one folder per noun',
    }))
}
