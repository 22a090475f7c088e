import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { linesOf } from './parse-source.ts'
import { fileAt, type RepositoryFile, type Tree, type Violation } from './repository-tree.ts'

const FILE_BYTES_MAX = 200_000
const MAY_BE_LARGE = /^package-lock\.json$|^docs\/.+\.(png|svg|jpg|webp)$/
const EXTENSIONS = new Set([
  'ts',
  'tsx',
  'mjs',
  'json',
  'md',
  'css',
  'html',
  'svg',
  'png',
  'ico',
  'jpg',
  'webp',
  'yml',
  'yaml',
  'proto',
  'service',
  'py',
  'toml',
  'gz',
])
const WITHOUT_EXTENSION =
  /^(LICENSE|NOTICE|NOTES\.txt|Dockerfile|\.gitignore|\.gitattributes|\.dockerignore|\.editorconfig|\.npmrc|\.nvmrc|\.ci\/run)$/
/** A path that exists on one machine only. */
const MACHINE_PATH = /(?<![\w.*-])\/(?:work|root|home\/[a-z][\w-]*)\//

/** No leftovers, no copies, nothing that holds only on the machine where it was written. */
export function checkRepository(tree: Tree): Violation[] {
  return [
    ...tree.files.flatMap(checkKind),
    ...tree.files.flatMap(checkWeight),
    ...checkCopies(tree.files),
    ...tree.files.flatMap(checkMachinePaths),
    ...checkLockFile(tree),
  ]
}

function checkKind({ path }: RepositoryFile): Violation[] {
  const name = basename(path)
  const [, extension] = /[^.].*\.([^.]+)$/.exec(name) ?? []
  if (WITHOUT_EXTENSION.test(path) || WITHOUT_EXTENSION.test(name)) return []
  if (extension !== undefined && EXTENSIONS.has(extension)) return []
  return [{ path, line: 1, rule: 'kind of file outside the allow-list', use: 'TypeScript, or nothing; git remembers' }]
}

function checkWeight({ path, bytes }: RepositoryFile): Violation[] {
  if (bytes.length <= FILE_BYTES_MAX || MAY_BE_LARGE.test(path)) return []
  const rule = `file of ${Math.ceil(bytes.length / 1000)} kB, at most ${FILE_BYTES_MAX / 1000}`
  return [{ path, line: 1, rule, use: 'what generates it' }]
}

function checkCopies(files: readonly RepositoryFile[]): Violation[] {
  const firsts = new Map<string, string>()
  return files.flatMap(({ path, bytes }) => {
    const hash = createHash('sha256').update(bytes).digest('hex')
    const first = firsts.get(hash)
    if (first === undefined) firsts.set(hash, path)
    return first === undefined || bytes.length === 0
      ? []
      : [{ path, line: 1, rule: `copy of ${first}`, use: 'one of them' }]
  })
}

function checkMachinePaths({ path, text }: RepositoryFile): Violation[] {
  return linesOf(text).flatMap((line, index) => {
    const [found] = MACHINE_PATH.exec(line) ?? []
    if (found === undefined) return []
    return [
      { path, line: index + 1, rule: `machine path ${found}`, use: 'a path relative to the root or the data folder' },
    ]
  })
}

/** A host name in the lock file would make every clone depend on that host. */
function checkLockFile(tree: Tree): Violation[] {
  const path = 'package-lock.json'
  return linesOf(fileAt(tree, path)?.text ?? '').flatMap((line, index) =>
    /"resolved": ".*:\/\//.test(line)
      ? [{ path, line: index + 1, rule: 'host name in "resolved"', use: 'omit-lockfile-registry-resolved in .npmrc' }]
      : [],
  )
}
