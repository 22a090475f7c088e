import { basename } from 'node:path'
import type { Tree, Violation } from './repository-tree.ts'

const VAGUE_NAMES = /^(utils?|helpers?|common|types|misc)$/
const PACKAGE_ROOT = /^(packages|apps)\/[^/]+\/src\/index\.tsx?$/

export function checkFileNames(tree: Tree): Violation[] {
  return tree.sources.flatMap(({ path }) => {
    const [stem = ''] = basename(path).split('.')
    if (VAGUE_NAMES.test(stem))
      return [{ path, line: 1, rule: `file name ${stem}`, use: 'the domain word for what is in it' }]
    if (stem !== 'index' || PACKAGE_ROOT.test(path)) return []
    return [{ path, line: 1, rule: 'index file below a package root', use: 'imports of the files themselves' }]
  })
}
