export interface ImportRow {
  /** Packages of ours, by name. */
  readonly may: ReadonlySet<string>
  /** Allowed as `import()` or as a type only, so that they load on demand. */
  readonly mayDynamically: ReadonlySet<string>
  /** Packages of ours that the last column names. They are not in `may`, or the table contradicts itself. */
  readonly never: ReadonlySet<string>
  /** Modules as `package/module`. Neither they nor any module that loads them may be imported. */
  readonly neverModules: ReadonlySet<string>
  /** Installed packages that may be imported; null allows every one that package.json declares. */
  readonly installed: ReadonlySet<string> | null
  /** "anything else": neither Node's modules nor the clock, unless the row names them. */
  readonly isClosed: boolean
  readonly mayBuiltIns: boolean
  /** The only ones that may import this package; null means all whose row allows it. */
  readonly onlyBy: ReadonlySet<string> | null
  /** Words of the last column that no rule enforces. */
  readonly unknown: readonly string[]
}

export type ImportTable = ReadonlyMap<string, ImportRow>

export interface Names {
  /** Workspaces, and the folders of workspaces that have a row of their own, such as `controllers/worker`. */
  readonly packages: readonly string[]
}

/** Words that rules in banned-code.ts enforce. */
export const BANNED_WORDS: ReadonlySet<string> = new Set(['async', 'Promise', 'Date', 'Math.random', 'node:*'])

const HEADING = /^#+ .*who may import whom/i
const BE_IMPORTED = /^be imported(?: by anything but (.+))?$/

/** Reads the table `| package | may import | never |` under its heading. Empty when there is none. */
export function readImportTable(markdown: string, workspaces: readonly string[]): ImportTable {
  const names = namesOf(markdown, workspaces)
  const table = new Map<string, ImportRow>()
  for (const cells of rowsOf(markdown)) {
    const subjects = listed(cells[0])
    for (const subject of subjects) table.set(subject, merged(table.get(subject), readRow(cells, subject, names)))
  }
  return table
}

export type Cells = readonly [names: string, may: string, never: string]

export function rowsOf(markdown: string): readonly Cells[] {
  const lines = markdown.split('\n')
  const after = lines.slice(lines.findIndex(line => HEADING.test(line)) + 1)
  const end = after.findIndex(line => line.startsWith('#'))
  const table = after.slice(0, end === -1 ? undefined : end).filter(line => line.startsWith('|'))
  return table.slice(2).map(line => {
    const [, names = '', may = '', never = ''] = line.split('|').map(plain)
    return [names, may, never]
  })
}

/** Without bold, code and escapes; the `*` of `cloud*` stays. */
const plain = (cell: string): string => cell.replace(/\*\*|[`\\]/g, '').trim()

/** A name with a slash in the first column is a folder in the `src` of a workspace. */
export function namesOf(markdown: string, workspaces: readonly string[]): Names {
  const folders = rowsOf(markdown).flatMap(([cell]) => listed(cell).filter(name => name.includes('/')))
  return { packages: [...workspaces, ...folders] }
}

/** What the last column forbids, word by word. */
export function neverWordsOf(cell: string): readonly string[] {
  return BE_IMPORTED.test(cell) ? [cell] : listed(cell)
}

export const listed = (cell: string): readonly string[] =>
  cell
    .replace(/\([^)]*\)/g, '')
    .split(/[,;]/)
    .map(word => word.trim())
    .filter(Boolean)

/** The packages that one word of the last column names: `store`, `cloud*`, `each other`. */
export function packagesOf(word: string, of: { subject: string; row: readonly string[] }, names: Names) {
  const others = (all: readonly string[]) => all.filter(name => name !== of.subject)
  if (word === 'each other') return others(of.row)
  if (word.endsWith('*')) return names.packages.filter(name => name.startsWith(word.slice(0, -1)))
  return names.packages.filter(name => name === word)
}

function readRow([row, may, never]: Cells, subject: string, names: Names): ImportRow {
  const words: readonly string[] = may.replace(/\([^)]*\)/g, '').match(/[a-z][a-z-]*(?:\/[a-z-]+)*/g) ?? []
  const named = names.packages.filter(known => words.includes(known))
  const dynamic = [...may.matchAll(/\(([a-z/-]+) by dynamic import\)/g)]
  const neverWords = neverWordsOf(never)
  const of = { subject, row: listed(row) }
  const isModule = (word: string) =>
    word.includes('/') && !names.packages.includes(word) && names.packages.includes(word.split('/')[0] ?? '')
  const isClosed = neverWords.includes('anything else')
  const only = BE_IMPORTED.exec(never)
  const isKnown = (word: string) =>
    ['anything else', 'anything installed'].includes(word) ||
    BE_IMPORTED.test(word) ||
    BANNED_WORDS.has(word) ||
    isModule(word) ||
    packagesOf(word, of, names).length > 0
  return {
    may: new Set(/^anything\b/.test(may) ? names.packages.filter(known => !named.includes(known)) : named),
    mayDynamically: new Set(dynamic.flatMap(([, what]) => what ?? [])),
    never: new Set(neverWords.flatMap(word => packagesOf(word, of, names))),
    neverModules: new Set(neverWords.filter(isModule)),
    installed: isClosed || neverWords.includes('anything installed') ? new Set(words) : null,
    isClosed,
    mayBuiltIns: !isClosed || may.includes('node built-ins'),
    onlyBy: only === null ? null : new Set(listed(only[1] ?? '')),
    unknown: neverWords.filter(word => !isKnown(word)),
  }
}

/** A package with several rows may import what any of them allows, and nothing that any of them forbids. */
function merged(one: ImportRow | undefined, other: ImportRow): ImportRow {
  if (!one) return other
  return {
    may: both(one.may, other.may),
    mayDynamically: both(one.mayDynamically, other.mayDynamically),
    never: both(one.never, other.never),
    neverModules: both(one.neverModules, other.neverModules),
    installed:
      one.installed && other.installed ? both(one.installed, other.installed) : (one.installed ?? other.installed),
    isClosed: one.isClosed || other.isClosed,
    mayBuiltIns: one.mayBuiltIns && other.mayBuiltIns,
    onlyBy: one.onlyBy && other.onlyBy ? both(one.onlyBy, other.onlyBy) : (one.onlyBy ?? other.onlyBy),
    unknown: [...one.unknown, ...other.unknown],
  }
}

const both = (one: ReadonlySet<string>, other: ReadonlySet<string>) => new Set([...one, ...other])
