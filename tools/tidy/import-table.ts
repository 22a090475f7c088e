export interface ImportRow {
  /** Packages of ours, by name. */
  readonly may: ReadonlySet<string>
  /** Allowed as `import()` or as a type only, so that they load when asked for. */
  readonly mayDynamically: ReadonlySet<string>
  /** Allowed in `main.ts` only. */
  readonly mayInMain: ReadonlySet<string>
  /** Modules of an allowed package that belong to somebody else. */
  readonly neverModules: ReadonlySet<string>
}

export type ImportTable = ReadonlyMap<string, ImportRow>

const HEADING = /^#+ .*who may import whom/i
const CONTROLLER = /-(controller|scheduler)$/
const ADAPTER = /^cloud-/

/** Reads the table `| package | may import | never |` under its heading. Empty when there is none. */
export function readImportTable(markdown: string, packages: readonly string[]): ImportTable {
  const table = new Map<string, ImportRow>()
  for (const cells of rowsOf(markdown)) {
    const names = namesIn(cells[0], packages)
    names.forEach((name, index) => {
      table.set(name, merged(table.get(name), readRow(cells, { name, index, packages })))
    })
  }
  return table
}

type Cells = readonly [names: string, may: string, never: string]

function rowsOf(markdown: string): Cells[] {
  const lines = markdown.split('\n')
  const after = lines.slice(lines.findIndex(line => HEADING.test(line)) + 1)
  const end = after.findIndex(line => line.startsWith('#'))
  const table = after.slice(0, end === -1 ? undefined : end).filter(line => line.startsWith('|'))
  return table.slice(2).map(line => {
    const [, names = '', may = '', never = ''] = line.split('|').map(cell => cell.replace(/[*`\\]/g, '').trim())
    return [names, may, never]
  })
}

/** A row speaks for one package, for several, or for all controllers. */
function namesIn(cell: string, packages: readonly string[]): string[] {
  const names = cell.split(/[,/]/).map(name => name.trim())
  return names.flatMap(name => (name === 'controllers' ? packages.filter(known => CONTROLLER.test(known)) : [name]))
}

interface Reader {
  readonly name: string
  readonly index: number
  readonly packages: readonly string[]
}

function readRow([names, may, never]: Cells, { name, index, packages }: Reader): ImportRow {
  const words: readonly string[] = may.replace(/\([^)]*\)/g, '').match(/[a-z][a-z-]*/g) ?? []
  const named = packages.filter(known => words.includes(known))
  const dynamic = [...may.matchAll(/\(([a-z-]+): ([a-z-]+) by dynamic import\)/g)]
  return {
    may: new Set(/^(any|every)thing\b/.test(may) ? packages.filter(known => !named.includes(known)) : named),
    mayDynamically: new Set(dynamic.flatMap(([, who, what]) => (who === name && what ? [what] : []))),
    mayInMain: new Set(never.includes('only in main.ts') ? packages.filter(known => ADAPTER.test(known)) : []),
    neverModules: new Set(pairwise(names, may) ? slashed(may).filter((_, other) => other !== index) : []),
  }
}

/** `a / b` beside `x / y` gives x to a alone and y to b alone. */
const pairwise = (names: string, may: string) => names.includes('/') && slashed(names).length === slashed(may).length
const slashed = (cell: string) => cell.split('/').map(part => part.trim())

function merged(one: ImportRow | undefined, other: ImportRow): ImportRow {
  if (!one) return other
  return {
    may: both(one.may, other.may),
    mayDynamically: both(one.mayDynamically, other.mayDynamically),
    mayInMain: both(one.mayInMain, other.mayInMain),
    neverModules: both(one.neverModules, other.neverModules),
  }
}

const both = (one: ReadonlySet<string>, other: ReadonlySet<string>) => new Set([...one, ...other])
